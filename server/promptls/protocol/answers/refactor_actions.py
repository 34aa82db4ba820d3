"""Refactorings as code actions, with their edits at once or when one of them is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptls.features.refactorings import REFACTORINGS, offers, place_at
from promptls.features.refactorings.refactoring import Change
from promptls.protocol.convert import to_range
from promptls.rules.rule import Edit
from promptls.syntax.source import Source
from promptls.text.span import Span

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def refactor_actions(session: Session, path: str, span: Span, only: list[str]) -> Iterator[types.CodeAction]:
    """The refactorings of the kinds asked for; also those that cannot be had, where the client shows why."""
    for name, offer in offers(session.snapshot, path, span):
        if not is_wanted(offer.kind, only) or (offer.makes_files and not session.flags.creates_files):
            continue
        if offer.reason:
            if session.flags.disabled_actions:
                disabled = types.CodeActionDisabled(offer.reason)
                yield types.CodeAction(offer.title, offer.kind, disabled=disabled)
            continue
        action = types.CodeAction(offer.title, offer.kind)
        if offer.preferred and session.flags.preferred_actions:
            action.is_preferred = True
        if session.flags.resolves_actions:
            action.data = _data(session, path, span, name)
        else:
            action.edit = _change_edit(session, path, offer.change())
        yield action


def is_wanted(kind: str, only: list[str]) -> bool:
    """Whether an action of this kind is asked for: of the kind itself, or of one that holds it."""
    return not only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def resolved_action(session: Session, action: types.CodeAction) -> types.CodeAction:
    """The action with its edits; answers that the content was modified where the file is another by now."""
    data = action.data
    if not isinstance(data, dict) or data.get("refactoring") not in REFACTORINGS:
        return action
    path, span = str(data["path"]), Span(int(data["start"]), int(data["end"]))
    place = place_at(session.snapshot, path, span)
    if place is None or data["version"] != _version(session, path):
        raise JsonRpcException(
            "the file has changed since the action was offered", types.LSPErrorCodes.ContentModified.value
        )
    offer = REFACTORINGS[data["refactoring"]](place)
    if offer is not None and not offer.reason:
        action.edit = _change_edit(session, path, offer.change())
    return action


def _data(session: Session, path: str, span: Span, name: str) -> dict[str, Any]:
    return {
        "refactoring": name,
        "path": path,
        "start": span.start,
        "end": span.end,
        "version": _version(session, path),
    }


def _version(session: Session, path: str) -> int | None:
    opened = session.snapshot.open_files.get(path)
    return opened.version if opened else None


def _change_edit(session: Session, path: str, change: Change) -> types.WorkspaceEdit:
    template = session.snapshot.template(path)
    assert template is not None
    if not change.new_files:
        return workspace_edit(session, path, template.source, change.edits)
    made: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    for file, text in change.new_files.items():
        uri = session.uri_of(file)
        document = types.OptionalVersionedTextDocumentIdentifier(uri, None)
        made += [
            types.CreateFile(uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=False)),
            types.TextDocumentEdit(document, [types.TextEdit(start, text)]),
        ]
    if change.edits:
        made.append(_document_edit(session, path, template.source, change.edits))
    return types.WorkspaceEdit(document_changes=made)


def workspace_edit(
    session: Session, path: str, source: Source, edits: tuple[Edit, ...]
) -> types.WorkspaceEdit:
    """Edits of one file, for its version where the client knows versions."""
    edit = _document_edit(session, path, source, edits)
    if session.flags.versioned_edits:
        return types.WorkspaceEdit(document_changes=[edit])
    return types.WorkspaceEdit(
        changes={edit.text_document.uri: [each for each in edit.edits if isinstance(each, types.TextEdit)]}
    )


def _document_edit(
    session: Session, path: str, source: Source, edits: tuple[Edit, ...]
) -> types.TextDocumentEdit:
    version = _version(session, path) if session.flags.versioned_edits else None
    document = types.OptionalVersionedTextDocumentIdentifier(session.uri_of(path), version)
    changes = [types.TextEdit(to_range(source, edit.span, session.unit), edit.text) for edit in edits]
    return types.TextDocumentEdit(document, changes)
