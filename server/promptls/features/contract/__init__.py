"""What a template needs from its caller, as a JSON Schema and as Python types."""
