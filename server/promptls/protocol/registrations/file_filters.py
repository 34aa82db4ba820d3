"""The files of whose making, renaming and deleting the client is to tell."""

from __future__ import annotations

from typing import Final

from lsprotocol import types

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
