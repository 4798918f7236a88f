"""Denoising one block: policies, constraints and the one loop."""
