"""Files and folders that the user makes, renames and deletes in the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.protocol.convert import path_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def did_create(session: Session, params: types.CreateFilesParams) -> None:
    """Look at what is there now."""
    session.files_changed([path_of(file.uri) for file in params.files])


def did_rename(session: Session, params: types.RenameFilesParams) -> None:
    """Look at where the files were, and at where they are."""
    session.files_changed([path_of(uri) for file in params.files for uri in (file.old_uri, file.new_uri)])


def did_delete(session: Session, params: types.DeleteFilesParams) -> None:
    """Look at what is there no more."""
    session.files_changed([path_of(file.uri) for file in params.files])
