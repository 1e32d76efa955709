"""The bodies of requests, read whole and no further than to a limit."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

LIMIT = 16 * 1024 * 1024


async def read(request: Request) -> bytes:
    """Raises HTTPException 413 where there is more than `LIMIT` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT:
            raise HTTPException(413, f"the request is larger than {LIMIT >> 20} MB")
    return bytes(body)
