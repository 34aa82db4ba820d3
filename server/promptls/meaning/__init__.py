"""What one file means: kind, header, parts, names, inputs, examples. Never raises on malformed input."""
