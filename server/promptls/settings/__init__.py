"""Settings and header keys, declared once as pydantic models."""
