"""One layout for prompt files, which never changes what they render to."""
