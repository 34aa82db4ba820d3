"""`textDocument/foldingRange`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.folding import LineFold, folds
from promptls.protocol.convert import path_of
from promptls.syntax.source import Source

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_KINDS = (types.FoldingRangeKind.Region.value, types.FoldingRangeKind.Comment.value)
"""What clients know that are older than the capability."""


def folding_range(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """What can be folded: by whole lines, and no more than so many, for a client that says so."""
    session.folds.asked_for(path_of(params["textDocument"]["uri"]))
    path = session.prompt_path(params["textDocument"]["uri"])
    template = session.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = folds(session.snapshot, path, session.flags.most_folds)
    return [_json(session, template.source, each) for each in found]


def _json(session: Session, source: Source, each: LineFold) -> dict[str, Any]:
    flags = session.flags
    made: dict[str, Any] = {"startLine": each.first, "endLine": each.last}
    if not flags.folds_lines_only:
        (_, made["startCharacter"]), (made["endLine"], made["endCharacter"]) = (
            source.units(offset, session.unit) for offset in each.fold.span
        )
    if each.fold.kind in (flags.fold_kinds or _KINDS):
        made["kind"] = each.fold.kind
    if flags.fold_texts:
        made["collapsedText"] = each.fold.text
    return made
