"""`textDocument/semanticTokens/full`, `…/full/delta` and `…/range`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.protocol.convert import path_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def full(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """All tokens of the document."""
    return session.semantic_tokens.full(path_of(params["textDocument"]["uri"]))


def delta(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """What changed since an answer before."""
    path = path_of(params["textDocument"]["uri"])
    return session.semantic_tokens.delta(path, params["previousResultId"])


def in_range(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """The tokens of the lines of a range, and of the parts around them."""
    place = params["range"]
    path = path_of(params["textDocument"]["uri"])
    return session.semantic_tokens.of_lines(path, place["start"]["line"], place["end"]["line"])
