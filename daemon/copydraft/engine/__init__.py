"""One decode pass: what is in memory, what the target picks, what is accepted, what it costs."""
