"""Rendering in a process of its own, with limits on time and memory, and the sample data to render with."""
