"""Scores: what a row's response is worth, with the reason."""
