"""The data of the results view, for the panel in an editor and the report."""
