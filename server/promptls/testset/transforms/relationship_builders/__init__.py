"""Builders of relationships between the nodes of a graph."""
