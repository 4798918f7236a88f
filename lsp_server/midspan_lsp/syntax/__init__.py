"""The syntax gate: the only folder that knows tree-sitter."""
