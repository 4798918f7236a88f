"""Midspan: a language server for inline completion by diffusion infilling."""

__version__ = "0.1.0"
