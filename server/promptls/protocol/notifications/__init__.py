"""What the client tells: the beginning and the end, settings, files that come and go."""
