"""Text embeddings computed by a model in this process."""
