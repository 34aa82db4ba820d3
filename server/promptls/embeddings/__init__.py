"""Text embeddings by a model in this process."""
