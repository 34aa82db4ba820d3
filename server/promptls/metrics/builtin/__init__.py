"""The built-in metrics, one per module. The docstring is the page; its tables are run as tests."""
