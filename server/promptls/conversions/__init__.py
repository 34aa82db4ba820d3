"""Prompts of other forms made into ours, and ours into theirs."""
