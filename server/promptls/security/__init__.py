"""Trust: which files may be read, which code may run, and which keys may be sent where."""
