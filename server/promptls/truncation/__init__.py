"""Truncation of a growing chat by a token limit and a truncation step, as pure functions."""
