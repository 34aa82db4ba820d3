"""Documentation, JSON Schemas and the extension's settings, generated from declarations."""
