"""The ready metrics, one a file. The docstring of each is its page, whose table is run as a test."""
