"""Scores of responses: what a metric is, how one is loaded, and the ready ones."""
