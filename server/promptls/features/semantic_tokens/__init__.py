"""Semantic tokens: Jinja and YAML together, by what each word means."""
