"""The linter. The rules are below `rules`; `registry.RULES` lists them."""
