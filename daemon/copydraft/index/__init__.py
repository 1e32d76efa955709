"""What is kept on disk: statistics and cost tables; the n-gram index."""
