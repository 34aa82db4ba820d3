"""Edits that fix what rules find."""
