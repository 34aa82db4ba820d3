"""The metrics of Ragas, scored by Ragas itself: a table of them, and what leads from our rows to its classes.

Only scoring imports `ragas`, in the process of a run: names, parameters and pages come from the table.
"""
