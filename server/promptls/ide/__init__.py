"""Editor features, one per module: a snapshot and an offset in, plain data with spans out."""
