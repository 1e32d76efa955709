"""Requests in order: the queue, their sequences, their cancelling."""
