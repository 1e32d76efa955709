"""Settings whose default depends on where the model runs."""

from __future__ import annotations

from copydraft.config import Config

CPU_CONTEXT, CARD_CONTEXT = 8192, 32768
CPU_FILE_CONTEXT, CARD_FILE_CONTEXT = 1536, 12288


def context_for(config: Config, *, on_card: bool) -> int:
    """Tokens of context to ask for; the model's own may be shorter."""
    return config.context or (CARD_CONTEXT if on_card else CPU_CONTEXT)


def file_context_for(config: Config, *, on_card: bool) -> int:
    """Tokens of the file shown around the region."""
    return config.file_context or (CARD_FILE_CONTEXT if on_card else CPU_FILE_CONTEXT)
