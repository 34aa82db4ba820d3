"""The only package that knows LSP: it imports pygls and lsprotocol, and converts both ways."""
