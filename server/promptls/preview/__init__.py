"""What the preview shows of a prompt, for the panel in an editor and for the page in a browser."""
