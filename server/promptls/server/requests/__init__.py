"""Request handlers, one per module: convert between protocol types and features."""
