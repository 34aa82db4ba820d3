"""Prompt Poet 0.0.52: its part keys, and what it does with a template and data."""
