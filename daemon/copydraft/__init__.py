"""copydraft: lossless speculative decoding whose draft is the text already in reach."""

__version__ = "0.1.0"
