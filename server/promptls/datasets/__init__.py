"""Rows to try a prompt on, read from files one row at a time."""
