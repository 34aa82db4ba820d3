"""Prompts in a program: `promptls.load(path).render(**data)`, as Prompt Poet makes them."""
