"""A block-diffusion infilling model for code."""
