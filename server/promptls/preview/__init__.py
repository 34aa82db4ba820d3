"""The data of the preview, for the panel in an editor and the page in a browser."""
