"""Texts that a client is to show: written into the user's cache, and opened."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.protocol.convert import uri_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def show_text(session: Session, path: str, what: str, text: str, ending: str = "md") -> str:
    """The path of a file that holds the text: open in the client, or shown where it opens no files.

    `path` is the prompt that the text is about, and `what` the kind of text; the same two give the
    same file. The text is Markdown, unless `ending` says otherwise; HTML opens in the user's browser.
    """
    from platformdirs import user_cache_path

    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    folder = user_cache_path("promptls") / "shown" / digest
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{Path(path).name}.{what}.{ending}"
    file.write_text(text, encoding="utf-8", errors="replace")
    if session.flags.shows_documents:
        # Not waited for: some clients open nothing before they have the command's result.
        session.start(_open(session, uri_of(str(file)), is_page=ending == "html"), "the opening of a text")
    else:
        message = types.ShowMessageParams(types.MessageType.Info, f"{what.capitalize()}: {file}")
        session.server.window_show_message(message)
    return str(file)


async def _open(session: Session, uri: str, *, is_page: bool) -> None:
    shown = types.ShowDocumentParams(uri, external=is_page or None)
    await session.server.window_show_document_async(shown)
