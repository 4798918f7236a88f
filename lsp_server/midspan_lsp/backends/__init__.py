"""Where middles come from: one protocol, one file per kind of backend."""
