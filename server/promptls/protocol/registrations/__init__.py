"""What the client is asked to tell: which files it watches, and which documents beside prompts it sends."""
