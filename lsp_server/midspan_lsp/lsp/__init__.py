"""The language server: the only folder that knows pygls and lsprotocol."""
