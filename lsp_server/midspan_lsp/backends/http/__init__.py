"""Other servers: how each kind is asked, over HTTP."""
