"""Python programs that use prompts: diagnostics, and templates in strings. No program is run."""
