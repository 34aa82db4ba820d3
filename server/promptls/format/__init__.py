"""The formatter, which never changes what a prompt renders to."""
