"""Embeddings of texts by a model that runs in this process."""
