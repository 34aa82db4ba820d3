"""Every setting and every header key, declared once, in pydantic."""
