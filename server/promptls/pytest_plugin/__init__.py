"""The pytest plugin: a fixture that runs experiments, and tests for the thresholds of prompt files."""
