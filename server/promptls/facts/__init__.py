"""What a computation reads, and whether what came of it still holds."""
