"""What keeps copydraft from working on this machine, and what mends it."""
