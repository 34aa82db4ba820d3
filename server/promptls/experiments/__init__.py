"""Running prompts over datasets, storing the results and comparing runs."""
