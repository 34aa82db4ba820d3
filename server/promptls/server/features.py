"""The handlers of the methods of the protocol, with the options announced to the client.

Handlers are imported on first use, so that `initialize` is answered before anything else is imported.
The `async` ones can be cancelled; if the text changes while they run, requests with a position fail with
ContentModified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.ide.semantic_token_legend import MODIFIERS as SEMANTIC_MODIFIERS
from promptls.ide.semantic_token_legend import TYPES as SEMANTIC_TYPES
from promptls.server.to_proto import path_of

if TYPE_CHECKING:
    from promptls.server.session import Session

Handler = Callable[["Session", Any], Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """The handler of a method, and a function that returns its options, new for each server."""

    handler: Handler
    options: Callable[[], Any] | None


FEATURES: Final[dict[str, Feature]] = {}
"""The methods that the server handles."""

ABOUT_SYMBOLS: Final = frozenset(
    {
        types.TEXT_DOCUMENT_DEFINITION,
        types.TEXT_DOCUMENT_DECLARATION,
        types.TEXT_DOCUMENT_REFERENCES,
        types.TEXT_DOCUMENT_PREPARE_RENAME,
        types.TEXT_DOCUMENT_RENAME,
    }
)
"""The requests that also apply to programs and data files, with their unsaved texts."""


def feature(method: str, options: Callable[[], Any] | None = None) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of a method."""

    def register(handler: Handler) -> Handler:
        FEATURES[method] = Feature(handler, options)
        return handler

    return register


def _file_operations() -> types.FileOperationRegistrationOptions:
    """Return the filters of the file operations to report: files that prompts name, and every folder."""
    endings = "j2,jinja,jinja2,csv,jsonl,json,parquet,yml,yaml,py,toml,txt,md"
    return types.FileOperationRegistrationOptions(
        [
            types.FileOperationFilter(types.FileOperationPattern(glob, matches), scheme="file")
            for glob, matches in (
                (f"**/*.{{{endings}}}", types.FileOperationPatternKind.File),
                ("**", types.FileOperationPatternKind.Folder),
            )
        ]
    )


# -- lifecycle, settings and files ------------------------------------------------


@feature(types.INITIALIZED)
async def _initialized(session: Session, _params: types.InitializedParams) -> None:
    from promptls.server.lifecycle import initialized

    await initialized(session.context, session.scan)


@feature(types.SHUTDOWN)
async def _shutdown(session: Session, _params: None) -> None:
    await session.close()


@feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
def _folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    from promptls.server.lifecycle import did_change_workspace_folders

    did_change_workspace_folders(session.context, session.trust, session.scan, params)


@feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def _configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    from promptls.server.lifecycle import did_change_configuration

    await did_change_configuration(session.context, session.documents, params)


@feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def _watched_files(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    session.documents.on_watched_files_changed([path_of(change.uri) for change in params.changes])


@feature(types.WORKSPACE_DID_CREATE_FILES, _file_operations)
def _created(session: Session, params: types.CreateFilesParams) -> None:
    session.documents.on_watched_files_changed([path_of(file.uri) for file in params.files])


@feature(types.WORKSPACE_DID_RENAME_FILES, _file_operations)
def _renamed(session: Session, params: types.RenameFilesParams) -> None:
    uris = [uri for file in params.files for uri in (file.old_uri, file.new_uri)]
    session.documents.on_watched_files_changed(list(map(path_of, uris)))


@feature(types.WORKSPACE_DID_DELETE_FILES, _file_operations)
def _deleted(session: Session, params: types.DeleteFilesParams) -> None:
    session.documents.on_watched_files_changed([path_of(file.uri) for file in params.files])


@feature(types.WORKSPACE_WILL_RENAME_FILES, _file_operations)
def _will_rename(session: Session, params: types.RenameFilesParams) -> Any:
    from promptls.server.requests.symbols import will_rename_files

    return will_rename_files(session.context, params)


@feature("promptls/editorModels")
def _editor_models(session: Session, params: dict[str, Any]) -> None:
    from promptls.server.commands.runs import editor_models

    editor_models(session.context, params)


@feature(types.WORKSPACE_EXECUTE_COMMAND)
async def _execute_command(session: Session, params: types.ExecuteCommandParams) -> Any:
    from promptls.server.commands import execute

    return await execute(session, params)


# -- documents and diagnostics ----------------------------------------------------


@feature(types.TEXT_DOCUMENT_DID_OPEN)
def _did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    session.documents.did_open(params)


@feature(types.TEXT_DOCUMENT_DID_CHANGE)
def _did_change(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    session.documents.did_change(params)


@feature(types.TEXT_DOCUMENT_DID_SAVE)
def _did_save(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    session.documents.did_save(params)


@feature(types.TEXT_DOCUMENT_DID_CLOSE)
def _did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    session.documents.did_close(params)


def _diagnostic_options() -> types.DiagnosticOptions:
    return types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, work_done_progress=True
    )


@feature(types.TEXT_DOCUMENT_DIAGNOSTIC, _diagnostic_options)
def _diagnostic(session: Session, params: types.DocumentDiagnosticParams) -> Any:
    from promptls.server.diagnostics import diagnostic

    return diagnostic(session.context, session.diagnostics, params)


@feature(types.WORKSPACE_DIAGNOSTIC)
async def _workspace_diagnostic(session: Session, params: types.WorkspaceDiagnosticParams) -> Any:
    from promptls.server.diagnostics import workspace_diagnostic

    await session.scan.finished()
    return await workspace_diagnostic(session.context, session.diagnostics, params)


# -- completion and hover -----------------------------------------------------------


def _completion_options() -> types.CompletionOptions:
    return types.CompletionOptions(
        trigger_characters=[".", "|", "{", "%", '"', "'", "/", ":", " ", "["],
        resolve_provider=True,
        completion_item=types.ServerCompletionItemOptions(label_details_support=True),
    )


@feature(types.TEXT_DOCUMENT_COMPLETION, _completion_options)
def _completion(session: Session, params: types.CompletionParams) -> Any:
    from promptls.server.requests.completion import completion

    return completion(session.context, session.renderings, params)


@feature(types.COMPLETION_ITEM_RESOLVE)
def _completion_resolve(session: Session, item: types.CompletionItem) -> Any:
    from promptls.server.requests.completion import completion_resolve

    return completion_resolve(session.context, session.renderings, item)


def _signature_options() -> types.SignatureHelpOptions:
    return types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["=", ")"])


@feature(types.TEXT_DOCUMENT_SIGNATURE_HELP, _signature_options)
def _signature_help(session: Session, params: types.SignatureHelpParams) -> Any:
    from promptls.server.requests.completion import signature_help

    return signature_help(session.context, params)


@feature(types.TEXT_DOCUMENT_HOVER)
async def _hover(session: Session, params: types.HoverParams) -> Any:
    from promptls.server.requests.annotations import hover

    return await hover(session.context, session.renderings, session.runs, session.auxiliary, params)


# -- navigation and rename ------------------------------------------------------------


@feature(types.TEXT_DOCUMENT_DEFINITION)
async def _definition(session: Session, params: types.DefinitionParams) -> Any:
    from promptls.server.requests.symbols import definition

    return await definition(session.context, params)


@feature(types.TEXT_DOCUMENT_DECLARATION)
async def _declaration(session: Session, params: types.DeclarationParams) -> Any:
    from promptls.server.requests.symbols import declaration

    return await declaration(session.context, params)


@feature(types.TEXT_DOCUMENT_REFERENCES, lambda: types.ReferenceOptions(work_done_progress=True))
async def _references(session: Session, params: types.ReferenceParams) -> Any:
    from promptls.server.requests.symbols import references

    return await references(session.context, session.scan, params)


@feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def _document_highlight(session: Session, params: types.DocumentHighlightParams) -> Any:
    from promptls.server.requests.symbols import document_highlight

    return document_highlight(session.context, session.auxiliary, params)


@feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
def _document_link(session: Session, params: types.DocumentLinkParams) -> Any:
    from promptls.server.requests.symbols import document_link

    return document_link(session.context, params)


@feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
async def _prepare_rename(session: Session, params: types.PrepareRenameParams) -> Any:
    from promptls.server.requests.symbols import prepare_rename

    return await prepare_rename(session.context, session.scan, params)


def _rename_options() -> types.RenameOptions:
    return types.RenameOptions(prepare_provider=True, work_done_progress=True)


@feature(types.TEXT_DOCUMENT_RENAME, _rename_options)
async def _rename(session: Session, params: types.RenameParams) -> Any:
    from promptls.server.requests.symbols import rename_symbol

    return await rename_symbol(session.context, session.auxiliary, session.scan, params)


# -- symbols --------------------------------------------------------------------------


@feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def _document_symbol(session: Session, params: types.DocumentSymbolParams) -> Any:
    from promptls.server.requests.symbols import document_symbol

    return document_symbol(session.context, params)


@feature(types.WORKSPACE_SYMBOL, lambda: types.WorkspaceSymbolOptions(work_done_progress=True))
async def _workspace_symbol(session: Session, params: types.WorkspaceSymbolParams) -> Any:
    from promptls.server.requests.symbols import workspace_symbol

    await session.scan.finished()
    return await workspace_symbol(session.context, session.symbol_index, params)


@feature(types.WORKSPACE_SYMBOL_RESOLVE)
def _resolve_symbol(session: Session, symbol: types.WorkspaceSymbol) -> Any:
    from promptls.server.requests.symbols import resolve_symbol

    return resolve_symbol(session.symbol_index, symbol)


@feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
def _prepare_call_hierarchy(session: Session, params: types.CallHierarchyPrepareParams) -> Any:
    from promptls.server.requests.symbols import prepare_call_hierarchy

    return prepare_call_hierarchy(session.context, params)


@feature(types.CALL_HIERARCHY_INCOMING_CALLS)
def _incoming_calls(session: Session, params: types.CallHierarchyIncomingCallsParams) -> Any:
    from promptls.server.requests.symbols import incoming_calls

    return incoming_calls(session.context, params)


@feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
def _outgoing_calls(session: Session, params: types.CallHierarchyOutgoingCallsParams) -> Any:
    from promptls.server.requests.symbols import outgoing_calls

    return outgoing_calls(session.context, params)


# -- ranges, annotations, actions and formatting --------------------------------------


def _legend() -> types.SemanticTokensLegend:
    return types.SemanticTokensLegend(list(SEMANTIC_TYPES), list(SEMANTIC_MODIFIERS))


@feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _legend)
def _semantic_tokens(session: Session, params: types.SemanticTokensParams) -> Any:
    return session.semantic_tokens.full(path_of(params.text_document.uri))


@feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA)
def _semantic_tokens_delta(session: Session, params: types.SemanticTokensDeltaParams) -> Any:
    return session.semantic_tokens.delta(path_of(params.text_document.uri), params.previous_result_id)


@feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE)
def _semantic_tokens_range(session: Session, params: types.SemanticTokensRangeParams) -> Any:
    lines = params.range.start.line, params.range.end.line
    return session.semantic_tokens.in_lines(path_of(params.text_document.uri), *lines)


@feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
def _folding_range(session: Session, params: types.FoldingRangeParams) -> Any:
    from promptls.server.requests.annotations import folding_range

    return folding_range(session.context, session.folds, params)


@feature(types.TEXT_DOCUMENT_SELECTION_RANGE)
def _selection_range(session: Session, params: types.SelectionRangeParams) -> Any:
    from promptls.server.requests.annotations import selection_range

    return selection_range(session.context, params)


@feature(types.TEXT_DOCUMENT_LINKED_EDITING_RANGE)
def _linked_editing_range(session: Session, params: types.LinkedEditingRangeParams) -> Any:
    from promptls.server.requests.annotations import linked_editing_range

    return linked_editing_range(session.context, params)


@feature(types.TEXT_DOCUMENT_INLAY_HINT)
async def _inlay_hint(session: Session, params: types.InlayHintParams) -> Any:
    from promptls.server.requests.annotations import inlay_hint

    return await inlay_hint(session.context, session.renderings, params)


@feature(types.TEXT_DOCUMENT_CODE_LENS)
def _code_lens(session: Session, params: types.CodeLensParams) -> Any:
    from promptls.server.requests.annotations import code_lens

    return code_lens(session.context, session.runs, session.auxiliary, params)


def _code_action_options() -> types.CodeActionOptions:
    kinds: list[types.CodeActionKind | str] = [
        types.CodeActionKind.QuickFix,
        "source.fixAll.promptls",
        types.CodeActionKind.RefactorExtract,
        types.CodeActionKind.RefactorInline,
        types.CodeActionKind.RefactorRewrite,
        "promptls.run",
    ]
    return types.CodeActionOptions(kinds, resolve_provider=True)


@feature(types.TEXT_DOCUMENT_CODE_ACTION, _code_action_options)
def _code_action(session: Session, params: types.CodeActionParams) -> Any:
    from promptls.server.requests.code_actions import code_action

    programs = session.program_findings
    return code_action(session.context, session.diagnostics, programs, session.runs, params)


@feature(types.CODE_ACTION_RESOLVE)
def _code_action_resolve(session: Session, action: types.CodeAction) -> Any:
    from promptls.server.requests.code_actions import code_action_resolve

    return code_action_resolve(session.context, action)


@feature(types.TEXT_DOCUMENT_FORMATTING)
def _formatting(session: Session, params: types.DocumentFormattingParams) -> Any:
    from promptls.server.requests.annotations import formatting

    return formatting(session.context, params)


@feature(
    types.TEXT_DOCUMENT_RANGE_FORMATTING, lambda: types.DocumentRangeFormattingOptions(ranges_support=True)
)
def _range_formatting(session: Session, params: types.DocumentRangeFormattingParams) -> Any:
    from promptls.server.requests.annotations import range_formatting

    return range_formatting(session.context, params)


@feature(types.TEXT_DOCUMENT_RANGES_FORMATTING)
def _ranges_formatting(session: Session, params: types.DocumentRangesFormattingParams) -> Any:
    from promptls.server.requests.annotations import ranges_formatting

    return ranges_formatting(session.context, params)


@feature(types.TEXT_DOCUMENT_ON_TYPE_FORMATTING, lambda: types.DocumentOnTypeFormattingOptions("}", ["\n"]))
def _on_type_formatting(session: Session, params: types.DocumentOnTypeFormattingParams) -> Any:
    from promptls.server.requests.annotations import on_type_formatting

    return on_type_formatting(session.context, params)
