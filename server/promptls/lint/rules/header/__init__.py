"""Rules about what a prompt file declares: inputs, examples, samples."""
