"""Training the denoiser: corpus, holes, noise, batches, forward, loss, trainer, log and recipes."""
