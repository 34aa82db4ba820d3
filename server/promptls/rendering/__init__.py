"""Rendering in a separate process with limits on time and memory, and the sample data to render with."""
