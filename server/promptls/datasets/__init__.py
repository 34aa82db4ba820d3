"""Rows of data sets, streamed from their back ends."""
