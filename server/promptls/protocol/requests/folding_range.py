"""`textDocument/foldingRange`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.features.folding import Fold, folds
from promptls.protocol.convert import to_range
from promptls.syntax.source import Source

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_KINDS: Final = {"region": types.FoldingRangeKind.Region, "comment": types.FoldingRangeKind.Comment}


def folding_range(session: Session, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
    """What can be folded: by whole lines, and no more than so many, for a client that says so."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    flags = session.flags
    lines = folds(session.snapshot, path, flags.most_folds)
    if flags.folds_lines_only:
        return [_range(session, each.fold, types.FoldingRange(each.first, each.last)) for each in lines]
    return [_range(session, each.fold, _exact(template.source, session, each.fold)) for each in lines]


def _exact(source: Source, session: Session, fold: Fold) -> types.FoldingRange:
    place = to_range(source, fold.span, session.unit)
    return types.FoldingRange(
        place.start.line,
        place.end.line,
        start_character=place.start.character,
        end_character=place.end.character,
    )


def _range(session: Session, fold: Fold, made: types.FoldingRange) -> types.FoldingRange:
    known = session.flags.fold_kinds or tuple(_KINDS)  # clients older than the capability know these
    made.kind = _KINDS.get(fold.kind) if fold.kind in known else None
    made.collapsed_text = fold.text if session.flags.fold_texts else None
    return made
