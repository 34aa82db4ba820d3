"""The client: what it can do, and what it is told or asked beside the answers to its requests."""
