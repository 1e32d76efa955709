"""What was written and what is kept: the session's text, and the databases."""
