"""What the rules for evaluation prompts find in OpenCompass's configurations in Python."""
