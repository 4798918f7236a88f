"""The `midspan` command: each sub-command loads only what it needs."""
