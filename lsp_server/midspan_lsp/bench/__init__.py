"""The benchmark: somebody types real files through a whole server, and others type the same lines."""
