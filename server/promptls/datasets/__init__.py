"""Datasets, read from files one row at a time."""
