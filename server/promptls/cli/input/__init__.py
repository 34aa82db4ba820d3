"""What is typed behind a command: options, and the files, samples and rules that they choose."""
