"""Prompts run on data sets: planned, run, stored, found again, and compared honestly."""
