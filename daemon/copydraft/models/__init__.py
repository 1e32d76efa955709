"""Models: the catalog, downloads, and what a file says of itself."""
