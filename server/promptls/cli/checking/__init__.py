"""What `promptls check` found, before a form of report is made of it."""
