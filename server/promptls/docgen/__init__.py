"""Documentation, JSON Schemas and the extension's settings, as pure strings from the declarations."""
