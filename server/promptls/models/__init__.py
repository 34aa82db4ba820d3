"""Language and embedding models: providers, keys, prices, rate limits and retries."""
