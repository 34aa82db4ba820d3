"""Exact token counts for named encodings. Vocabularies come from packages, never from the network."""
