"""What people see of an answer: words and tables on a terminal, drawings, and files that are written anew."""
