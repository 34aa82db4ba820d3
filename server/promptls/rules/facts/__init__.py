"""What several rules ask of a file, each in one way."""
