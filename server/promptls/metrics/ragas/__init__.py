"""The metrics of Ragas, computed by Ragas: a table of the metrics, and an adapter for rows.

`ragas` is only imported for scoring, in the run's process. Names, parameters and pages come from the table.
"""
