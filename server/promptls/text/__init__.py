"""Texts, offsets, spans and lines: knows nothing of Jinja, YAML or LSP."""
