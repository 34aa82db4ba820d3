"""What one file means: its kind, header, parts, names, inputs and examples. Never raises on malformed input."""
