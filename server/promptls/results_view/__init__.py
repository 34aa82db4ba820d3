"""What the results view shows of runs, for the panel in an editor and for the report in one file."""
