"""The Python library: `promptls.load(path).render(**data)` returns the same prompt as Prompt Poet."""
