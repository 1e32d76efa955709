"""The user's files: read exactly, written atomically."""
