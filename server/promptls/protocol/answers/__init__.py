"""The forms that requests are answered in: locations, code actions, plain text."""
