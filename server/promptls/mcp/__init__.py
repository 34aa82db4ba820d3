"""A server of the Model Context Protocol, for coding agents."""
