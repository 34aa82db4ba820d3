"""Prompt Poet 0.0.52: part keys and rendering."""
