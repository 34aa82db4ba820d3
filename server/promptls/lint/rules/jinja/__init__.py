"""Rules about the Jinja of a template."""
