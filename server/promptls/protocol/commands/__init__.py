"""One command a file: plain JSON in, plain JSON out."""
