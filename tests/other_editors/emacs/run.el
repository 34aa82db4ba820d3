(promptls-run "quick")
(message-with "exact_match")
