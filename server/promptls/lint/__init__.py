"""The linter. One rule per module; `registry.RULES` lists them."""
