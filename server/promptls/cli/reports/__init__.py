"""The forms in which `promptls check` shows what it found, one form a file."""
