"""Code-defined experiments: a Python function that is called with each row of a dataset."""
