"""Pages of the built panels that a command serves to a browser of this machine."""
