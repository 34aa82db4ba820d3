"""What a session keeps of files: renderings, runs, names, held documents, and what the client was sent."""
