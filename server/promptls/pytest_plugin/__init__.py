"""The pytest plugin: a fixture that runs experiments, and thresholds as tests."""
