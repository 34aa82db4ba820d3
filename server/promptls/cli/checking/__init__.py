"""The findings of `promptls check`, independent of the report format."""
