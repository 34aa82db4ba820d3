"""The Jinja parser: delimiters, tokens, expressions and statements with spans, with error recovery."""
