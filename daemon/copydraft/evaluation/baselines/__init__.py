"""The published retrieval drafters, each by its own rule, to be replayed beside ours."""
