"""The smallest pygls server: accepts all changes, and answers every request with nothing."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("empty", "1", text_document_sync_kind=types.TextDocumentSyncKind.Incremental)


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def opened(ls: LanguageServer, params: types.DidOpenTextDocumentParams) -> None:
    publish(ls, params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def changed(ls: LanguageServer, params: types.DidChangeTextDocumentParams) -> None:
    publish(ls, params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_HOVER)
@server.feature(types.TEXT_DOCUMENT_COMPLETION)
@server.feature(types.TEXT_DOCUMENT_DEFINITION)
def requested(ls: LanguageServer, params: object) -> None:
    """Return nothing, which is the fastest answer."""


def publish(ls: LanguageServer, uri: str, version: int | None) -> None:
    ls.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=[])
    )


if __name__ == "__main__":
    server.start_io()
