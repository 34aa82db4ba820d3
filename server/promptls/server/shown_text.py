"""Texts to show in the client: written to the user's cache directory, and opened."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from lsprotocol import types

from promptls.security.written_files import (
    cache_folder,
    make_private_folder,
    open_private,
    remove_old_files,
    remove_old_temporaries,
)
from promptls.server.context import Context
from promptls.server.to_proto import uri_of


def show_text(context: Context, path: str, what: str, text: str, ending: str = "md") -> str:
    """Write the text to a file and return its path; open it in the client, or show it if that opens no files.

    `path` is the prompt that the text is about, and `what` the kind of text; the same two use the
    same file. The text is Markdown, unless `ending` says otherwise; HTML opens in the user's browser.
    """
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    folder = _folder() / digest
    for each in (folder.parent.parent, folder.parent, folder):
        make_private_folder(each)
    file = folder / f"{Path(path).name}.{what}.{ending}"
    # A file of an earlier version may be readable by everybody, and a link must not be followed.
    file.unlink(missing_ok=True)
    with open_private(file, "x", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
    context.shown_files.add(file)
    if context.capabilities.shows_documents:
        # Not waited for: some clients open nothing before they have the command's result.
        context.start(_open(context, uri_of(str(file)), is_page=ending == "html"), "the opening of a text")
    else:
        message = types.ShowMessageParams(types.MessageType.Info, f"{what.capitalize()}: {file}")
        context.server.window_show_message(message)
    return str(file)


def remove_shown(context: Context) -> None:
    """Delete the files that this session has shown, because they contain rendered prompts and data."""
    for file in context.shown_files:
        with contextlib.suppress(OSError):
            file.unlink()
        with contextlib.suppress(OSError):
            file.parent.rmdir()
    context.shown_files.clear()


def remove_leftovers() -> None:
    """Delete files that killed sessions and runs left behind some days ago."""
    remove_old_files(_folder())
    remove_old_temporaries()


def _folder() -> Path:
    return cache_folder() / "shown"


async def _open(context: Context, uri: str, *, is_page: bool) -> None:
    shown = types.ShowDocumentParams(uri, external=is_page or None)
    await context.server.window_show_document_async(shown)
