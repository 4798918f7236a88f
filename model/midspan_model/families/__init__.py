"""Bigger diffusion checkpoints, one file for each kind: their weights in their published form, never their code."""
