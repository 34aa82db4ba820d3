"""Command-line options, and the files, samples and rules that they select."""
