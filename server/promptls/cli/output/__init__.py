"""Terminal output: text, tables, charts and rewritten files."""
