"""Analyses of a file that several rules use."""
