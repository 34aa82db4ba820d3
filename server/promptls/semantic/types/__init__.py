"""Inferred types, declared schemas and assignability."""
