"""Findings that are kept from one answer to the next, or shown in files that are no prompts."""
