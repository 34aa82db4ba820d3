"""The behavior of Prompt Poet, Ragas and OpenCompass, one package each, as pure functions and tables."""
