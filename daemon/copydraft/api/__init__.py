"""The daemon as its clients meet it: HTTP over a unix socket."""
