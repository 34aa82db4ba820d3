"""Texts, offsets, spans and lines, independent of Jinja, YAML and LSP."""
