"""Semantic analysis of one file: kind, header, parts, names, examples. Never raises on malformed input."""
