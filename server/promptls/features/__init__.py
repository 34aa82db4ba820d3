"""One editor feature a file: a snapshot and an offset in, plain data with spans out."""
