"""`textDocument/prepareRename` and `textDocument/rename`; what is refused is answered with its reason."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptls.features.rename import RenameEdit, prepare_steps, rename_steps
from promptls.protocol.answers.locations import asked_of_symbol, range_in
from promptls.protocol.client.progress import in_slices
from promptls.text.failure import Failure

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_LIKELY: Final = "promptls.likely"


async def prepare(
    session: Session, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """The range of the name at the position, and the name; None where it is for others to rename."""
    asked = asked_of_symbol(session, params)
    if asked is None:
        return None
    await session.scan.finished()
    try:
        found = await in_slices(session, prepare_steps(session.snapshot, *asked))
    except Failure as failure:
        raise _refusal(failure) from None
    if found is None:
        return None
    return types.PrepareRenamePlaceholder(range_in(session, asked[0], found.span), found.name)


async def rename_symbol(session: Session, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """The edits of every file that give the symbol at the position its new name.

    A file that was edited meanwhile is not the one that the edits are for: the rename is given up.
    """
    asked = asked_of_symbol(session, params)
    if asked is None:
        return None
    await session.scan.finished()
    snapshot = session.snapshot
    steps = rename_steps(snapshot, *asked, params.new_name)
    try:
        edits = await in_slices(session, steps, params.work_done_token, "Renaming")
    except Failure as failure:
        raise _refusal(failure) from None
    if edits is None:
        return None
    now = session.snapshot
    if any(
        now.open_file(edit.path) is not snapshot.open_file(edit.path) or session.held.is_waiting(edit.path)
        for edit in edits
    ):
        raise JsonRpcException("the text has changed", types.LSPErrorCodes.ContentModified.value)
    return workspace_edit(session, edits)


def _refusal(failure: Failure) -> JsonRpcException:
    return JsonRpcException(failure.message, types.LSPErrorCodes.RequestFailed.value)


def workspace_edit(session: Session, edits: tuple[RenameEdit, ...]) -> types.WorkspaceEdit:
    """The edits of all files, in the form that the client takes."""
    by_file = {path: list(each) for path, each in groupby(edits, attrgetter("path"))}
    if not session.flags.versioned_edits:
        return types.WorkspaceEdit(
            changes={
                session.uri_of(path): [
                    types.TextEdit(range_in(session, path, edit.span), edit.text) for edit in each
                ]
                for path, each in by_file.items()
            }
        )
    changes: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = [
        _document_edit(session, path, each) for path, each in by_file.items()
    ]
    annotations = None
    if session.flags.change_annotations and any(edit.is_doubtful for edit in edits):
        label = "Likely the same name"
        description = "Tick what is meant as well: these rows may be of another data set."
        annotations = {
            _LIKELY: types.ChangeAnnotation(label, needs_confirmation=True, description=description)
        }
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations)


def _document_edit(session: Session, path: str, edits: list[RenameEdit]) -> types.TextDocumentEdit:
    opened = session.snapshot.open_file(path)
    document = types.OptionalVersionedTextDocumentIdentifier(
        session.uri_of(path), opened.version if opened is not None else None
    )
    return types.TextDocumentEdit(document, [_text_edit(session, path, edit) for edit in edits])


def _text_edit(session: Session, path: str, edit: RenameEdit) -> types.TextEdit | types.AnnotatedTextEdit:
    place = range_in(session, path, edit.span)
    if edit.is_doubtful and session.flags.change_annotations:
        return types.AnnotatedTextEdit(_LIKELY, place, edit.text)
    return types.TextEdit(place, edit.text)
