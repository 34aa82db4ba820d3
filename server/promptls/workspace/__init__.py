"""Many files and time: snapshots, includes, settings; the only reader of prompt files on disk."""
