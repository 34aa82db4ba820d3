"""What Prompt Poet, Ragas and OpenCompass do, each in a package of its own, as pure functions and tables."""
