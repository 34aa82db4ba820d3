"""Rules about the parts of a parts template."""
