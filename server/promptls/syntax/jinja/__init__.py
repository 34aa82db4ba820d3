"""Jinja: delimiters, tokens, expressions and statements, each with its span, in broken text too."""
