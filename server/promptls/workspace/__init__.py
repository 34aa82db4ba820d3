"""Files over time: snapshots, includes, settings. The only package that reads prompt files from disk."""
