"""Which function answers which method, with the options that the client is told of.

Handlers are named and not imported: `initialize` is answered before anything is loaded that
the answer does not need. `isolated` gets lsprotocol's types and may be asynchronous; `plain`,
which makes up a keystroke, gets plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from lsprotocol import types

from promptls.features.semantic_tokens.legend import MODIFIERS as SEMANTIC_MODIFIERS
from promptls.features.semantic_tokens.legend import TYPES as SEMANTIC_TYPES
from promptls.protocol.registrations import file_filters


@dataclass(frozen=True, slots=True)
class Method:
    """One row: the method, its handler in this package, and what makes its options, fresh for each server."""

    name: str
    handler: str
    options: Callable[[], Any] | None = None
    form: Literal["typed", "typed, later", "json"] = "typed"
    """What the handler gets, and whether it is asynchronous."""


METHODS: Final = (
    Method(types.INITIALIZED, "notifications.lifecycle:initialized"),
    Method(types.SHUTDOWN, "notifications.lifecycle:shutdown", form="typed, later"),
    Method(
        types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, "notifications.lifecycle:did_change_workspace_folders"
    ),
    Method(
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        "notifications.configuration:did_change_configuration",
        form="typed, later",
    ),
    Method(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, "documents:did_change_watched_files"),
    Method(
        types.WORKSPACE_DID_CREATE_FILES, "notifications.file_operations:did_create", file_filters.options
    ),
    Method(
        types.WORKSPACE_DID_RENAME_FILES, "notifications.file_operations:did_rename", file_filters.options
    ),
    Method(
        types.WORKSPACE_DID_DELETE_FILES, "notifications.file_operations:did_delete", file_filters.options
    ),
    Method(
        types.WORKSPACE_WILL_RENAME_FILES,
        "requests.will_rename_files:will_rename_files",
        file_filters.options,
    ),
    Method(types.TEXT_DOCUMENT_DID_OPEN, "documents:did_open"),
    Method(types.TEXT_DOCUMENT_DID_CHANGE, "documents:did_change", form="json"),
    Method(types.TEXT_DOCUMENT_DID_SAVE, "documents:did_save"),
    Method(types.TEXT_DOCUMENT_DID_CLOSE, "documents:did_close"),
    Method(types.WORKSPACE_EXECUTE_COMMAND, "commands.execute:execute", form="typed, later"),
    Method(types.TEXT_DOCUMENT_HOVER, "requests.hover:hover", form="typed, later"),
    Method(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, "requests.document_symbol:document_symbol", form="json"),
    Method(types.TEXT_DOCUMENT_DOCUMENT_LINK, "requests.document_link:document_link"),
    Method(types.TEXT_DOCUMENT_DEFINITION, "requests.definition:definition", form="typed, later"),
    Method(types.TEXT_DOCUMENT_DECLARATION, "requests.definition:declaration", form="typed, later"),
    Method(
        types.TEXT_DOCUMENT_REFERENCES,
        "requests.references:references",
        lambda: types.ReferenceOptions(work_done_progress=True),
        form="typed, later",
    ),
    Method(
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, "requests.document_highlight:document_highlight", form="json"
    ),
    Method(types.TEXT_DOCUMENT_PREPARE_RENAME, "requests.rename:prepare", form="typed, later"),
    Method(
        types.TEXT_DOCUMENT_RENAME,
        "requests.rename:rename_symbol",
        lambda: types.RenameOptions(prepare_provider=True, work_done_progress=True),
        form="typed, later",
    ),
    Method(
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
        "requests.semantic_tokens:full",
        lambda: types.SemanticTokensLegend(list(SEMANTIC_TYPES), list(SEMANTIC_MODIFIERS)),
        form="json",
    ),
    Method(
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA,
        "requests.semantic_tokens:delta",
        form="json",
    ),
    Method(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, "requests.semantic_tokens:in_range", form="json"),
    Method(types.TEXT_DOCUMENT_FOLDING_RANGE, "requests.folding_range:folding_range", form="json"),
    Method(types.TEXT_DOCUMENT_SELECTION_RANGE, "requests.selection_range:selection_range"),
    Method(types.TEXT_DOCUMENT_LINKED_EDITING_RANGE, "requests.linked_editing_range:linked_editing_range"),
    Method(
        types.WORKSPACE_SYMBOL,
        "requests.workspace_symbol:workspace_symbol",
        lambda: types.WorkspaceSymbolOptions(work_done_progress=True),
        form="typed, later",
    ),
    Method(types.WORKSPACE_SYMBOL_RESOLVE, "requests.workspace_symbol:resolve"),
    Method(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, "requests.call_hierarchy:prepare"),
    Method(types.CALL_HIERARCHY_INCOMING_CALLS, "requests.call_hierarchy:incoming_calls"),
    Method(types.CALL_HIERARCHY_OUTGOING_CALLS, "requests.call_hierarchy:outgoing_calls"),
    Method(types.TEXT_DOCUMENT_INLAY_HINT, "requests.inlay_hint:inlay_hint", form="typed, later"),
    Method(types.TEXT_DOCUMENT_CODE_LENS, "requests.code_lens:code_lens"),
    Method(
        types.TEXT_DOCUMENT_COMPLETION,
        "requests.completion:completion",
        lambda: types.CompletionOptions(
            trigger_characters=[".", "|", "{", "%", '"', "'", "/", ":", " ", "["],
            resolve_provider=True,
            completion_item=types.ServerCompletionItemOptions(label_details_support=True),
        ),
        form="json",
    ),
    Method(types.COMPLETION_ITEM_RESOLVE, "requests.completion_resolve:completion_resolve", form="json"),
    Method(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        "requests.signature_help:signature_help",
        lambda: types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["=", ")"]),
        form="json",
    ),
    Method(
        types.TEXT_DOCUMENT_CODE_ACTION,
        "requests.code_action:code_action",
        lambda: types.CodeActionOptions(
            [
                types.CodeActionKind.QuickFix,
                "source.fixAll.promptls",
                types.CodeActionKind.RefactorExtract,
                types.CodeActionKind.RefactorInline,
                types.CodeActionKind.RefactorRewrite,
                "promptls.run",
            ],
            resolve_provider=True,
        ),
    ),
    Method("promptls/editorModels", "client.editor_models:editor_models", form="json"),
    Method(types.CODE_ACTION_RESOLVE, "requests.code_action_resolve:code_action_resolve"),
    Method(types.TEXT_DOCUMENT_FORMATTING, "requests.formatting:formatting"),
    Method(
        types.TEXT_DOCUMENT_RANGE_FORMATTING,
        "requests.formatting:range_formatting",
        lambda: types.DocumentRangeFormattingOptions(ranges_support=True),
    ),
    Method(types.TEXT_DOCUMENT_RANGES_FORMATTING, "requests.formatting:ranges_formatting"),
    Method(
        types.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        "requests.formatting:on_type_formatting",
        lambda: types.DocumentOnTypeFormattingOptions("}", ["\n"]),
    ),
    Method(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        "requests.diagnostic:diagnostic",
        lambda: types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=True, work_done_progress=True
        ),
        form="json",
    ),
    Method(
        types.WORKSPACE_DIAGNOSTIC, "requests.workspace_diagnostic:workspace_diagnostic", form="typed, later"
    ),
)

ABOUT_SYMBOLS: Final = frozenset(
    {
        types.TEXT_DOCUMENT_DEFINITION,
        types.TEXT_DOCUMENT_DECLARATION,
        types.TEXT_DOCUMENT_REFERENCES,
        types.TEXT_DOCUMENT_PREPARE_RENAME,
        types.TEXT_DOCUMENT_RENAME,
    }
)
"""Requests that programs and files of data are asked about too, as they are edited."""

COMMANDS: Final = {
    "promptls.newPrompt": "commands.new_prompt:new_prompt",
    "promptls.preview": "commands.preview:preview",
    "promptls.previewTokens": "commands.preview_answers:preview_tokens",
    "promptls.previewRows": "commands.preview_answers:preview_rows",
    "promptls.previewCommitted": "commands.preview_answers:preview_committed",
    "promptls.runExperiment": "commands.run_experiment:run_experiment",
    "promptls.leaveOneOut": "commands.leave_one_out:leave_one_out",
    "promptls.generateDataset": "commands.generate_dataset:generate_dataset",
    "promptls.compareRuns": "commands.compare_runs:compare_runs",
    "promptls.cancelRun": "commands.cancel_run:cancel_run",
    "promptls.planExperiment": "commands.plan_experiment:plan_experiment",
    "promptls.experimentTests": "commands.experiment_tests:experiment_tests",
    "promptls.experimentRows": "commands.experiment_tests:experiment_rows",
    "promptls.rowVerdicts": "commands.experiment_tests:row_verdicts",
    "promptls.showResults": "commands.show_results:show_results",
    "promptls.resultsRows": "commands.results_answers:results_rows",
    "promptls.resultsPairs": "commands.results_answers:results_pairs",
    "promptls.resultsMessages": "commands.results_answers:results_messages",
    "promptls.resultsNote": "commands.results_answers:results_note",
    "promptls.resultsNumbers": "commands.results_answers:results_numbers",
    "promptls.resultsGoingOn": "commands.results_answers:results_going_on",
    "promptls.exportResults": "commands.results_answers:export_results",
    "promptls.tokens": "commands.tokens:tokens",
    "promptls.truncationLab": "commands.truncation_lab:truncation_lab",
    "promptls.contract": "commands.contract:contract",
    "promptls.check": "commands.check:check_files",
    "promptls.applyEdit": "commands.apply_edit:apply_edit",
    "promptls.debugInformation": "commands.debug_information:debug_information",
}
"""The commands of `workspace/executeCommand`, each with the function that it runs."""
