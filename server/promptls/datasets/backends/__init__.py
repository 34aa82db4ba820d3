"""Places that data sets and results are kept in, by name; one file a place."""
