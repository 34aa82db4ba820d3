"""Editor features, one module each: they take a snapshot and an offset, and return plain data with spans."""
