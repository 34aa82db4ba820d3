"""Prompt × model × row × repeat: planned, run, stored, found again, and compared honestly."""
