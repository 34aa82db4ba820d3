"""Rules about experiments: datasets, metrics, models, results."""
