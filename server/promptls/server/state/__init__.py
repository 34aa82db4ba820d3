"""What the server caches and publishes for one client."""
