"""Test data made from documents: splitters, extractors, the knowledge graph, scenarios, queries."""
