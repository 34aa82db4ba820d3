"""How the client is asked to send more than it does of itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def files_like(*patterns: str) -> list[types.TextDocumentFilterPattern]:
    """A selector of the files on disk, in any folder, whose names are like one of the patterns."""
    return [types.TextDocumentFilterPattern(f"**/{pattern}", scheme="file") for pattern in patterns]


async def register_documents(session: Session, name: str, asked: Iterable[tuple[str, Any]]) -> None:
    """Ask the client for each method with its options; `name` says what for, and is this server's own."""
    registrations = [
        types.Registration(f"promptls.{name}.{method}", method, given) for method, given in asked
    ]
    await session.server.client_register_capability_async(types.RegistrationParams(registrations))
