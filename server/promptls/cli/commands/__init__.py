"""One command per module: its options, the calls into lower packages, and its output."""
