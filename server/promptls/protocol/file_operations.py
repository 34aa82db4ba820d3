"""Files and folders that the user makes, renames and deletes in the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.protocol.convert import path_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_ENDINGS: Final = "j2,jinja,jinja2,csv,jsonl,json,parquet,yml,yaml,py,toml,txt,md"


def options() -> types.FileOperationRegistrationOptions:
    """What the client is to tell of: files that a prompt may name, and every folder."""
    return types.FileOperationRegistrationOptions(
        [
            types.FileOperationFilter(types.FileOperationPattern(glob, matches), scheme="file")
            for glob, matches in (
                (f"**/*.{{{_ENDINGS}}}", types.FileOperationPatternKind.File),
                ("**", types.FileOperationPatternKind.Folder),
            )
        ]
    )


def did_create(session: Session, params: types.CreateFilesParams) -> None:
    """Look at what is there now."""
    session.files_changed([path_of(file.uri) for file in params.files])


def did_rename(session: Session, params: types.RenameFilesParams) -> None:
    """Look at where the files were, and at where they are."""
    session.files_changed([path_of(uri) for file in params.files for uri in (file.old_uri, file.new_uri)])


def did_delete(session: Session, params: types.DeleteFilesParams) -> None:
    """Look at what is there no more."""
    session.files_changed([path_of(file.uri) for file in params.files])
