"""How good the middles are, measured on holes cut from real code."""
