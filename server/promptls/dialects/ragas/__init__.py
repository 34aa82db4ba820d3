"""Ragas: prompt objects, their keys and their validation."""
