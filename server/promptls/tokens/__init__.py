"""Exact token counts for named encodings; the vocabularies come from packages, never from a network."""
