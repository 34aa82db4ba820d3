"""Experiments that are written in Python: a function that is called with each row of a data set."""
