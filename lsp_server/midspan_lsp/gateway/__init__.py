"""The engine over HTTP, in the dialects of other completion servers. Only this folder knows the HTTP server."""
