"""Files and positions of requests and commands, and locations of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types

from promptls.ide.symbols.occurrences import is_parsed_as_prompt, is_program
from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.server.context import Context
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.to_proto import from_position, path_of, range_json, to_range
from promptls.syntax.source import Source
from promptls.text.errors import FilePlace, UsageError, optional
from promptls.text.positions import Span

if TYPE_CHECKING:
    from promptls.ide.rename import RenameEdit


class PositionParams(Protocol):
    """The parameters of every request about a position in a document."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


def requested_place(context: Context, params: PositionParams) -> tuple[str, int] | None:
    """Return the path and the offset of a request; None if it is not in a prompt file."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    return path, from_position(template.source, params.position, context.encoding)


def requested_symbol(context: Context, params: PositionParams) -> tuple[str, int] | None:
    """Return the same for a request about a symbol, also in a program, data file or settings file."""
    path = path_of(params.text_document.uri)
    if is_parsed_as_prompt(context.snapshot, path):
        return requested_place(context, params)
    template = context.snapshot.template(path)
    return (path, from_position(template.source, params.position, context.encoding)) if template else None


def requested_name(
    context: Context, auxiliary: AuxiliaryDocuments, params: PositionParams
) -> tuple[str, int] | None:
    """Return the same for a request about a name; None in a program, which other servers analyze."""
    path = path_of(params.text_document.uri)
    if is_program(path):
        return None
    auxiliary.flush()
    template = context.snapshot.template(path)
    if template is None or (is_parsed_as_prompt(context.snapshot, path) and context.kind(path) is Kind.OTHER):
        return None
    return path, from_position(template.source, params.position, context.encoding)


def json_range_in(context: Context, path: str, span: Span) -> dict[str, Any]:
    """Return the range of a span in a file as plain JSON; the start of the file if it cannot be read."""
    template = context.snapshot.template(path)
    return range_json(template.source if template is not None else Source.of(""), span, context.encoding)


def range_in(context: Context, path: str, span: Span) -> types.Range:
    """Return the range of a span in a file; the start of the file if it cannot be read."""
    template = context.snapshot.template(path)
    return to_range(template.source if template is not None else Source.of(""), span, context.encoding)


def location(context: Context, path: str, span: Span) -> types.Location:
    """Return the location of a span in a file."""
    return types.Location(context.uri_of(path), range_in(context, path, span))


def text_edits(context: Context, path: str, edits: Iterable[Edit | RenameEdit]) -> list[types.TextEdit]:
    """Return edits of a file in the form of the protocol."""
    return [types.TextEdit(range_in(context, path, edit.span), edit.text) for edit in edits]


def versioned_edit(
    context: Context, path: str, edits: Sequence[types.TextEdit | types.AnnotatedTextEdit]
) -> types.TextDocumentEdit:
    """Return the edits for the version of the file that is open."""
    opened = context.snapshot.open_file(path)
    document = types.OptionalVersionedTextDocumentIdentifier(
        context.uri_of(path), opened.version if opened is not None else None
    )
    return types.TextDocumentEdit(document, edits)


def workspace_edit(context: Context, path: str, edits: Iterable[Edit]) -> types.WorkspaceEdit:
    """Return the edits of one file, for its version if the client supports versions."""
    changes = text_edits(context, path, edits)
    if context.capabilities.versioned_edits:
        return types.WorkspaceEdit(document_changes=[versioned_edit(context, path, changes)])
    return types.WorkspaceEdit(changes={context.uri_of(path): changes})


def prompt_path(context: Context, arguments: dict[str, Any]) -> str:
    """Return the path of the prompt `uri`; raises UsageError if it is not a prompt or does not exist."""
    uri = optional(arguments, "uri", str)
    if uri is None:
        raise UsageError("the command needs the prompt that it is for", remedy='pass {"uri": "file:///…"}')
    path = path_of(uri)
    if context.snapshot.template(path) is None:
        raise UsageError("there is no such file", FilePlace(path), "save it, or check the path")
    if context.kind(path) is Kind.OTHER:
        raise UsageError(
            "this is not a prompt file",
            FilePlace(path),
            "a prompt ends in `.yml.j2` and is a list of parts with `name` and `content`, or a mapping "
            "with `instruction`",
        )
    return path
