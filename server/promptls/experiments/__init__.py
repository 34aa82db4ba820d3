"""Running a prompt over a data set, keeping what came out, and comparing runs."""
