"""The handlers of the methods of the protocol, with the options announced to the client.

Their modules are imported on first use, so that `initialize` is answered before anything else is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.ide.semantic_token_legend import MODIFIERS as SEMANTIC_MODIFIERS
from promptls.ide.semantic_token_legend import TYPES as SEMANTIC_TYPES
from promptls.server.commands import LazyModule, execute
from promptls.server.to_proto import path_of

if TYPE_CHECKING:
    from promptls.server import diagnostics, lifecycle
    from promptls.server.commands import runs
    from promptls.server.requests import annotations as text_annotations
    from promptls.server.requests import code_actions, completion, symbols
    from promptls.server.session import Session
else:
    text_annotations = LazyModule("requests.annotations")
    code_actions = LazyModule("requests.code_actions")
    completion = LazyModule("requests.completion")
    diagnostics = LazyModule("diagnostics")
    lifecycle = LazyModule("lifecycle")
    runs = LazyModule("commands.runs")
    symbols = LazyModule("requests.symbols")

Handler = Callable[["Session", Any], Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """The handler of a method, and a function that returns its options, new for each server.

    An `is_async` handler can be cancelled; if the text changes while it runs, a request with a position fails
    with ContentModified.
    """

    handler: Handler
    options: Callable[[], Any] | None = None
    is_async: bool = False


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


def _files_changed(session: Session, uris: Iterable[str]) -> None:
    session.documents.on_watched_files_changed([path_of(uri) for uri in uris])


def _semantic_tokens_range(session: Session, params: types.SemanticTokensRangeParams) -> Any:
    lines = params.range.start.line, params.range.end.line
    return session.semantic_tokens.in_lines(path_of(params.text_document.uri), *lines)


FEATURES: Final = {
    # lifecycle, settings and files
    types.INITIALIZED: Feature(lambda s, _: lifecycle.initialized(s.context, s.scan), is_async=True),
    types.SHUTDOWN: Feature(lambda s, _: s.close(), is_async=True),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: Feature(
        lambda s, params: lifecycle.did_change_workspace_folders(s.context, s.trust, s.scan, params)
    ),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: Feature(
        lambda s, params: lifecycle.did_change_configuration(s.context, s.documents, params), is_async=True
    ),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: Feature(
        lambda s, params: _files_changed(s, (change.uri for change in params.changes))
    ),
    types.WORKSPACE_DID_CREATE_FILES: Feature(
        lambda s, params: _files_changed(s, (file.uri for file in params.files)), _file_operations
    ),
    types.WORKSPACE_DID_RENAME_FILES: Feature(
        lambda s, params: _files_changed(s, (uri for f in params.files for uri in (f.old_uri, f.new_uri))),
        _file_operations,
    ),
    types.WORKSPACE_DID_DELETE_FILES: Feature(
        lambda s, params: _files_changed(s, (file.uri for file in params.files)), _file_operations
    ),
    types.WORKSPACE_WILL_RENAME_FILES: Feature(
        lambda s, params: symbols.will_rename_files(s.context, params), _file_operations
    ),
    types.WORKSPACE_EXECUTE_COMMAND: Feature(execute, is_async=True),
    "promptls/editorModels": Feature(lambda s, params: runs.editor_models(s.context, params)),
    # documents and diagnostics
    types.TEXT_DOCUMENT_DID_OPEN: Feature(lambda s, params: s.documents.did_open(params)),
    types.TEXT_DOCUMENT_DID_CHANGE: Feature(lambda s, params: s.documents.did_change(params)),
    types.TEXT_DOCUMENT_DID_SAVE: Feature(lambda s, params: s.documents.did_save(params)),
    types.TEXT_DOCUMENT_DID_CLOSE: Feature(lambda s, params: s.documents.did_close(params)),
    types.TEXT_DOCUMENT_DIAGNOSTIC: Feature(
        lambda s, params: diagnostics.diagnostic(s.context, s.diagnostics, params),
        lambda: types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=True, work_done_progress=True
        ),
    ),
    types.WORKSPACE_DIAGNOSTIC: Feature(
        lambda s, params: diagnostics.workspace_diagnostic(s.context, s.diagnostics, s.scan, params),
        is_async=True,
    ),
    # completion and hover
    types.TEXT_DOCUMENT_COMPLETION: Feature(
        lambda s, params: completion.completion(s.context, s.renderings, s.auxiliary, params),
        lambda: types.CompletionOptions(
            trigger_characters=[".", "|", "{", "%", '"', "'", "/", ":", " ", "["],
            resolve_provider=True,
            completion_item=types.ServerCompletionItemOptions(label_details_support=True),
        ),
    ),
    types.COMPLETION_ITEM_RESOLVE: Feature(
        lambda s, item: completion.completion_resolve(s.context, s.renderings, item)
    ),
    types.TEXT_DOCUMENT_SIGNATURE_HELP: Feature(
        lambda s, params: completion.signature_help(s.context, params),
        lambda: types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["=", ")"]),
    ),
    types.TEXT_DOCUMENT_HOVER: Feature(
        lambda s, params: text_annotations.hover(s.context, s.renderings, s.runs, s.auxiliary, params),
        is_async=True,
    ),
    # navigation and rename
    types.TEXT_DOCUMENT_DEFINITION: Feature(
        lambda s, params: symbols.definition(s.context, params), is_async=True
    ),
    types.TEXT_DOCUMENT_DECLARATION: Feature(
        lambda s, params: symbols.declaration(s.context, params), is_async=True
    ),
    types.TEXT_DOCUMENT_REFERENCES: Feature(
        lambda s, params: symbols.references(s.context, s.scan, params),
        lambda: types.ReferenceOptions(work_done_progress=True),
        is_async=True,
    ),
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Feature(
        lambda s, params: symbols.document_highlight(s.context, s.auxiliary, params)
    ),
    types.TEXT_DOCUMENT_DOCUMENT_LINK: Feature(lambda s, params: symbols.document_link(s.context, params)),
    types.TEXT_DOCUMENT_PREPARE_RENAME: Feature(
        lambda s, params: symbols.prepare_rename(s.context, s.scan, params), is_async=True
    ),
    types.TEXT_DOCUMENT_RENAME: Feature(
        lambda s, params: symbols.rename_symbol(s.context, s.auxiliary, s.scan, params),
        lambda: types.RenameOptions(prepare_provider=True, work_done_progress=True),
        is_async=True,
    ),
    # symbols
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Feature(
        lambda s, params: symbols.document_symbol(s.context, params)
    ),
    types.WORKSPACE_SYMBOL: Feature(
        lambda s, params: symbols.workspace_symbol(s.context, s.symbol_index, s.scan, params),
        lambda: types.WorkspaceSymbolOptions(work_done_progress=True),
        is_async=True,
    ),
    types.WORKSPACE_SYMBOL_RESOLVE: Feature(lambda s, symbol: symbols.resolve_symbol(s.symbol_index, symbol)),
    types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: Feature(
        lambda s, params: symbols.prepare_call_hierarchy(s.context, params)
    ),
    types.CALL_HIERARCHY_INCOMING_CALLS: Feature(lambda s, params: symbols.incoming_calls(s.context, params)),
    types.CALL_HIERARCHY_OUTGOING_CALLS: Feature(lambda s, params: symbols.outgoing_calls(s.context, params)),
    # ranges, annotations, actions and formatting
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: Feature(
        lambda s, params: s.semantic_tokens.full(path_of(params.text_document.uri)),
        lambda: types.SemanticTokensLegend(list(SEMANTIC_TYPES), list(SEMANTIC_MODIFIERS)),
    ),
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: Feature(
        lambda s, params: s.semantic_tokens.delta(
            path_of(params.text_document.uri), params.previous_result_id
        )
    ),
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: Feature(_semantic_tokens_range),
    types.TEXT_DOCUMENT_FOLDING_RANGE: Feature(
        lambda s, params: text_annotations.folding_range(s.context, s.folds, params)
    ),
    types.TEXT_DOCUMENT_SELECTION_RANGE: Feature(
        lambda s, params: text_annotations.selection_range(s.context, params)
    ),
    types.TEXT_DOCUMENT_LINKED_EDITING_RANGE: Feature(
        lambda s, params: text_annotations.linked_editing_range(s.context, params)
    ),
    types.TEXT_DOCUMENT_INLAY_HINT: Feature(
        lambda s, params: text_annotations.inlay_hint(s.context, s.renderings, params), is_async=True
    ),
    types.TEXT_DOCUMENT_CODE_LENS: Feature(
        lambda s, params: text_annotations.code_lens(s.context, s.runs, s.auxiliary, params)
    ),
    types.TEXT_DOCUMENT_CODE_ACTION: Feature(
        lambda s, params: code_actions.code_action(
            s.context, s.diagnostics, s.program_findings, s.runs, params
        ),
        _code_action_options,
    ),
    types.CODE_ACTION_RESOLVE: Feature(lambda s, action: code_actions.code_action_resolve(s.context, action)),
    types.TEXT_DOCUMENT_FORMATTING: Feature(
        lambda s, params: text_annotations.formatting(s.context, params.text_document)
    ),
    types.TEXT_DOCUMENT_RANGE_FORMATTING: Feature(
        lambda s, params: text_annotations.formatting(s.context, params.text_document, [params.range]),
        lambda: types.DocumentRangeFormattingOptions(ranges_support=True),
    ),
    types.TEXT_DOCUMENT_RANGES_FORMATTING: Feature(
        lambda s, params: text_annotations.formatting(s.context, params.text_document, params.ranges)
    ),
    types.TEXT_DOCUMENT_ON_TYPE_FORMATTING: Feature(
        lambda s, params: text_annotations.on_type_formatting(s.context, params),
        lambda: types.DocumentOnTypeFormattingOptions("}", ["\n"]),
    ),
}
"""The methods that the server handles; `s` is the session of the client."""
