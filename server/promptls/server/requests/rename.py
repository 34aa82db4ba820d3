"""Renames of symbols and files; a refused rename is answered with its reason."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from promptls.ide.rename import RenameEdit, prepare_steps, rename_files, rename_steps
from promptls.server.locations import range_in, requested_symbol
from promptls.server.progress import in_slices
from promptls.server.to_proto import is_file, path_of
from promptls.text.errors import UserError

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
    from promptls.server.state.scan import WorkspaceScan


_LIKELY: Final = "promptls.likely"


async def prepare_rename(
    context: Context, scan: WorkspaceScan, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """Return the range of the name at the position, and the name; None if it cannot be renamed here."""
    requested = requested_symbol(context, params)
    if requested is None:
        return None
    await scan.finished()
    try:
        found = await in_slices(context, prepare_steps(context.snapshot, *requested))
    except UserError as failure:
        raise _refusal(failure) from None
    if found is None:
        return None
    return types.PrepareRenamePlaceholder(range_in(context, requested[0], found.span), found.name)


async def rename_symbol(
    context: Context, auxiliary: AuxiliaryDocuments, scan: WorkspaceScan, params: types.RenameParams
) -> types.WorkspaceEdit | None:
    """Return the edits of all files that rename the symbol at the position.

    The request fails with ContentModified if one of the files was edited meanwhile.
    """
    requested = requested_symbol(context, params)
    if requested is None:
        return None
    await scan.finished()
    snapshot = context.snapshot
    steps = rename_steps(snapshot, *requested, params.new_name)
    try:
        edits = await in_slices(context, steps, params.work_done_token, "Renaming")
    except UserError as failure:
        raise _refusal(failure) from None
    if edits is None:
        return None
    now = context.snapshot
    if any(
        now.open_file(edit.path) is not snapshot.open_file(edit.path) or auxiliary.is_waiting(edit.path)
        for edit in edits
    ):
        raise JsonRpcContentModified("the text has changed")
    return workspace_edit(context, edits)


def _refusal(failure: UserError) -> JsonRpcException:
    return JsonRpcException(failure.message, types.LSPErrorCodes.RequestFailed.value)


def workspace_edit(context: Context, edits: tuple[RenameEdit, ...]) -> types.WorkspaceEdit:
    """Return the edits of all files, in the form that the client supports."""
    by_file = {path: list(each) for path, each in groupby(edits, attrgetter("path"))}
    if not context.capabilities.versioned_edits:
        return types.WorkspaceEdit(
            changes={
                context.uri_of(path): [
                    types.TextEdit(range_in(context, path, edit.span), edit.text) for edit in each
                ]
                for path, each in by_file.items()
            }
        )
    changes: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = [
        _document_edit(context, path, each) for path, each in by_file.items()
    ]
    annotations = None
    if context.capabilities.change_annotations and any(edit.is_doubtful for edit in edits):
        label = "Likely the same name"
        description = "Tick what is meant as well: these rows may be of another dataset."
        annotations = {
            _LIKELY: types.ChangeAnnotation(label, needs_confirmation=True, description=description)
        }
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations)


def _document_edit(context: Context, path: str, edits: list[RenameEdit]) -> types.TextDocumentEdit:
    opened = context.snapshot.open_file(path)
    document = types.OptionalVersionedTextDocumentIdentifier(
        context.uri_of(path), opened.version if opened is not None else None
    )
    return types.TextDocumentEdit(document, [_text_edit(context, path, edit) for edit in edits])


def _text_edit(context: Context, path: str, edit: RenameEdit) -> types.TextEdit | types.AnnotatedTextEdit:
    place = range_in(context, path, edit.span)
    if edit.is_doubtful and context.capabilities.change_annotations:
        return types.AnnotatedTextEdit(_LIKELY, place, edit.text)
    return types.TextEdit(place, edit.text)


def will_rename_files(context: Context, params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
    """Return the edits that update references to the files; None if there are none."""
    pairs = [(path_of(file.old_uri), path_of(file.new_uri)) for file in params.files]
    edits = rename_files(context.snapshot, {old: new for old, new in pairs if is_file(old) and is_file(new)})
    return workspace_edit(context, edits) if edits else None
