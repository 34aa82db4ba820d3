"""Record what a computation reads, and check whether its result is still valid."""
