"""Exact token counts for named encodings, with vocabularies that come from packages and never from a network."""
