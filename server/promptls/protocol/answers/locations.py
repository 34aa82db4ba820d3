"""Places in files as the protocol's locations, in files that are no prompts too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types

from promptls.features.symbols.find import holds_prompt
from promptls.features.symbols.python_file import is_program
from promptls.meaning.kind import Kind
from promptls.protocol.convert import from_position, path_of, range_json, to_range
from promptls.syntax.source import Source
from promptls.text.span import Span

if TYPE_CHECKING:
    from promptls.protocol.session import Session


class AsksAboutPlace(Protocol):
    """The parameters of every question about one place of a document."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


def asked_place(session: Session, params: AsksAboutPlace) -> tuple[str, int] | None:
    """The path and the offset of a question about a place; None where it is in no prompt file."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    return path, from_position(template.source, params.position, session.unit)


def asked_of_symbol(session: Session, params: AsksAboutPlace) -> tuple[str, int] | None:
    """The same of a question about a symbol: programs, files of data and settings have some, too."""
    path = path_of(params.text_document.uri)
    if holds_prompt(session.snapshot, path):
        return asked_place(session, params)
    template = session.snapshot.template(path)
    return (path, from_position(template.source, params.position, session.unit)) if template else None


def asked_in_json(session: Session, params: dict[str, Any]) -> tuple[str, int] | None:
    """The same of a question in plain JSON; None in a program, whose names others know as well."""
    path = path_of(params["textDocument"]["uri"])
    if is_program(path):
        return None
    session.held.settle()
    template = session.snapshot.template(path)
    if template is None or (holds_prompt(session.snapshot, path) and session.kind(path) is Kind.OTHER):
        return None
    position = params["position"]
    return path, template.source.offset(position["line"], position["character"], session.unit)


def json_range_in(session: Session, path: str, span: Span) -> dict[str, Any]:
    """The range of a span of the file at `path` in plain JSON; its beginning, where it cannot be read."""
    template = session.snapshot.template(path)
    return range_json(template.source if template is not None else Source.of(""), span, session.unit)


def range_in(session: Session, path: str, span: Span) -> types.Range:
    """The range of a span of the file at `path`; its beginning, where the file cannot be read."""
    template = session.snapshot.template(path)
    return to_range(template.source if template is not None else Source.of(""), span, session.unit)


def location(session: Session, path: str, span: Span) -> types.Location:
    """The location of a span of the file at `path`."""
    return types.Location(session.uri_of(path), range_in(session, path, span))
