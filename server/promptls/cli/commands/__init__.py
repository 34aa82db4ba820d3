"""The commands, one a file: its options, what it asks of the rooms below, and how the answer is laid out."""
