"""The report formats of `promptls check`, one per module."""
