"""One rule a file; `registry.RULES` lists them all."""
