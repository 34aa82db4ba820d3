"""The command line. `main.py` selects the command."""
