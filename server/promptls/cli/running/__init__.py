"""Runs at the command line: the question before one, its progress, and what is printed at its end."""
