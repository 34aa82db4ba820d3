"""Analyses of a file that rules share."""
