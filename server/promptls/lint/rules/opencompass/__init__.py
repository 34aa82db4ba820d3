"""Rules about evaluation prompts of OpenCompass."""
