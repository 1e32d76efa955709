"""The language server of copydraft: editors on one side, the daemon on the other."""
