"""Many files and time: snapshots, the include graph, project settings; the only reader of prompt files on disk."""
