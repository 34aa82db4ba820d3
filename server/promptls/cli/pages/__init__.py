"""The web pages that commands serve to a browser on this machine."""
