"""Measuring drafters: replay of traces, edits mined from git, benches on a real model."""
