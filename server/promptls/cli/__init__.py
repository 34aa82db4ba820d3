"""The command line: `main.py` picks the command, and each folder says what is in it."""
