"""The names of a file: bindings, references and resolution."""
