"""OpenCompass: evaluation prompts and their keys."""
