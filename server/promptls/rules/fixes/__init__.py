"""What mends a finding: edits, and the words that offer them."""
