"""`workspace/willRenameFiles`: the edits that let includes and headers find what gets another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.file_renames import rename_files
from promptls.protocol.convert import is_file, path_of
from promptls.protocol.requests.rename import workspace_edit

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def will_rename_files(session: Session, params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
    """The edits, of the files as they are named now; None where nothing needs one."""
    pairs = [(path_of(file.old_uri), path_of(file.new_uri)) for file in params.files]
    edits = rename_files(session.snapshot, {old: new for old, new in pairs if is_file(old) and is_file(new)})
    return workspace_edit(session, edits) if edits else None
