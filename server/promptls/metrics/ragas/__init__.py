"""The metrics of Ragas, computed by Ragas: a table of them, and the adapter for our rows.

Only scoring imports `ragas`, in the process of a run. Names, parameters and pages come from the table.
"""
