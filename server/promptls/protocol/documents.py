"""Documents as the client opens, edits, saves and closes them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.convert import path_of, span_of_json
from promptls.protocol.typed_together import Typed, typed_together
from promptls.text.span import Span

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)


def did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Take the document's text from the client until it closes it."""
    document = params.text_document
    path = session.remember_uri(document.uri)
    if path not in session.snapshot.open_files and session.held.takes(path, document.text):
        session.held.open(path, document.text, document.version)
        return
    session.workspace.open(path, document.text, document.version)
    session.file_changed(path)
    session.settings_findings.look_again()


def did_change(session: Session, params: dict[str, Any]) -> None:
    """Apply the client's changes, in order; a document that is not open is left alone."""
    document = params["textDocument"]
    path = path_of(document["uri"])
    opened = session.snapshot.open_files.get(path)
    if opened is None and path in session.held:
        session.held.change(path, params["contentChanges"], document.get("version"))
        return
    if opened is None:
        log.warning("a change to %s, which is not open, is ignored", document["uri"])
        return
    source = opened.template.source
    changes = params["contentChanges"]
    while changes:
        typed = typed_together(source, changes, session.unit) if len(changes) > 1 else None
        if typed is None:
            place, text = changes[0].get("range"), changes[0]["text"]
            span = Span(0, len(source)) if place is None else span_of_json(source, place, session.unit)
            typed = Typed(span, text, 1)
        if typed.text or typed.span.start < typed.span.end:
            source = source.edited(typed.span, typed.text)
            session.rendered_findings.edited(path, typed.span, len(typed.text))
        changes = changes[typed.changes :]
    session.workspace.put(path, source, document.get("version") or opened.version)
    session.file_changed(path)


def did_save(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    """Look again at the disk, for clients that watch no files."""
    session.files_changed([path_of(params.text_document.uri)])


def did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """Take the file from the disk again."""
    path = path_of(params.text_document.uri)
    if path in session.held:
        session.held.close(path)
        session.forget_uri(path)
    elif path in session.snapshot.open_files:
        session.workspace.close(path)
        session.file_closed(path)


def did_change_watched_files(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    """Look again at files that others have written, made or removed."""
    session.files_changed([path_of(change.uri) for change in params.changes])
