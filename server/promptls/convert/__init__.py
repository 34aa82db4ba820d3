"""Conversions between prompt formats."""
