"""What a token limit and a truncation step do to a chat that grows: pure functions over parts with counts."""
