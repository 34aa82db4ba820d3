"""One request a file: from the protocol's types to a feature, and back."""
