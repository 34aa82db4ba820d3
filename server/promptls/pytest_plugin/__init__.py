"""Experiments as tests of pytest: a fixture for test functions, and prompt files that are tests."""
