"""Rules about prompt objects of Ragas."""
