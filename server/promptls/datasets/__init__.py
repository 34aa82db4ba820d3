"""Datasets: readers and writers of dataset files, which stream one row at a time, and storage backends."""
