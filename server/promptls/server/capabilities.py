"""What the client can do, as plain capabilities, resolved once from its capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsprotocol import types


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """Capabilities as named values; all False for a client that declares none."""

    pulls_diagnostics: bool = False
    """Asks for the diagnostics of a document, so that none are pushed."""
    refreshes_diagnostics: bool = False
    """Requests all diagnostics again on `workspace/diagnostic/refresh`."""
    refreshes_inlay_hints: bool = False
    """Requests all inlay hints again on `workspace/inlayHint/refresh`."""
    refreshes_code_lenses: bool = False
    """Requests all code lenses again on `workspace/codeLens/refresh`."""
    refreshes_folds: bool = False
    """Requests all folds again on `workspace/foldingRange/refresh`."""
    registers_documents: bool = False
    """Supports dynamic registration of documents, completion and hover."""
    registers_shared_names: bool = False
    """Supports dynamic registration of documents, definitions, references, rename and highlights."""
    refreshes_semantic_tokens: bool = False
    """Requests all semantic tokens again on `workspace/semanticTokens/refresh`."""
    related_information: bool = False
    """Shows the other places that a diagnostic speaks of."""
    diagnostic_tags: bool = False
    """Shows what a diagnostic calls unnecessary in a weaker colour."""
    code_descriptions: bool = False
    """Makes a diagnostic's code a link."""
    diagnostic_data: bool = False
    """Gives the data of a diagnostic back when it asks for code actions."""
    related_documents: bool = False
    """Accepts diagnostics of related documents."""
    markdown: bool = False
    """Shows Markdown in hovers."""
    symbol_tree: bool = False
    """Takes document symbols inside one another."""
    snippets: bool = False
    """Fills in the placeholders of completed texts."""
    insert_replace_edits: bool = False
    """Lets the user choose whether a completed item takes the place of the word's end as well."""
    completion_formats: tuple[str, ...] = ()
    """How the documentation of completed items may be marked up; plain strings where it does not say."""
    completion_defaults: frozenset[str] = frozenset()
    """What a list of completions may say once for all its items."""
    label_details: bool = False
    """Shows parameters and origin beside the label of a completed item."""
    item_kinds: frozenset[int] = frozenset()
    """The kinds of completed items that it knows; empty where it does not say."""
    item_tags: bool = False
    """Shows what is deprecated among completed items by a tag."""
    deprecated_items: bool = False
    """Shows what is deprecated among completed items, in the older form."""
    preselects: bool = False
    """Marks one completed item as chosen."""
    commit_characters: bool = False
    """Accepts completed items by typing on."""
    adjusts_indentation: bool = False
    """Supports the insert text mode that adjusts indentation."""
    signature_formats: tuple[str, ...] = ()
    """How the documentation of signatures may be marked up; plain strings where it does not say."""
    parameter_offsets: bool = False
    """Takes parameters as places in the label of their signature."""
    signature_parameters: bool = False
    """Takes the parameter that is being written from the signature itself."""
    code_action_literals: bool = False
    """Takes code actions, and not only commands."""
    applies_edits: bool = False
    """Makes edits that the server asks for."""
    disabled_actions: bool = False
    """Shows actions that cannot be had, with the reason."""
    preferred_actions: bool = False
    """Knows that one action is the one that is usually wanted."""
    resolves_actions: bool = False
    """Asks for an action's edits once it is chosen."""
    creates_files: bool = False
    """Makes files that edits ask for."""
    versioned_edits: bool = False
    """Takes edits that name the version of the document that they are for."""
    change_annotations: bool = False
    """Asks the user about edits that say they need it."""
    definition_links: bool = False
    """Takes definitions as links, which say what they lead from."""
    declaration_links: bool = False
    """Takes declarations as links."""
    resolves_symbols: bool = False
    """Asks for the place of a symbol of the workspace when it needs it."""
    newer_symbol_kinds: bool = False
    """Says which kinds of symbols of the workspace it knows, beyond the first ones of the protocol."""
    newer_outline_kinds: bool = False
    """The same of the symbols of a document."""
    folds_lines_only: bool = False
    """Folds whole lines, and leaves columns alone."""
    max_folds: int | None = None
    """How many folds of a file it wants at most; None for all."""
    fold_kinds: tuple[str, ...] = ()
    """The kinds of folds that it knows."""
    fold_texts: bool = False
    """Shows a text in the place of what is folded."""
    link_tooltips: bool = False
    """Shows what a document link says of itself."""
    configuration: bool = False
    """Answers questions for its settings."""
    registers_configuration: bool = False
    """Supports dynamic registration of `workspace/didChangeConfiguration`."""
    watches_files: bool = False
    """Supports dynamic registration of watched files."""
    work_done_progress: bool = False
    """Shows the progress of work that the server begins by itself."""
    shows_documents: bool = False
    """Supports `window/showDocument`."""
    panels: bool = False
    """Shows previews and results by itself, from a command's result."""
    models: bool = False
    """Answers for the models of its editor."""


def resolve_capabilities(capabilities: types.ClientCapabilities) -> ClientCapabilities:
    """Return the capabilities that change what the server does."""

    def has(path: str) -> bool:
        value: Any = capabilities
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
            if value is None:
                return False
        return value is not False

    def formats(path: str) -> tuple[str, ...]:
        value: Any = capabilities
        for name in path.split("."):
            value = getattr(value, name, None)
        return tuple(str(getattr(each, "value", each)) for each in value or ())

    completion = "text_document.completion.completion_item"
    signature = "text_document.signature_help.signature_information"
    return ClientCapabilities(
        snippets=has(f"{completion}.snippet_support"),
        insert_replace_edits=has(f"{completion}.insert_replace_support"),
        completion_formats=formats(f"{completion}.documentation_format"),
        completion_defaults=frozenset(formats("text_document.completion.completion_list.item_defaults")),
        label_details=has(f"{completion}.label_details_support"),
        item_kinds=frozenset(map(int, formats("text_document.completion.completion_item_kind.value_set"))),
        item_tags=has(f"{completion}.tag_support"),
        deprecated_items=has(f"{completion}.deprecated_support"),
        preselects=has(f"{completion}.preselect_support"),
        commit_characters=has(f"{completion}.commit_characters_support"),
        adjusts_indentation="2" in formats(f"{completion}.insert_text_mode_support.value_set"),
        signature_formats=formats(f"{signature}.documentation_format"),
        parameter_offsets=has(f"{signature}.parameter_information.label_offset_support"),
        signature_parameters=has(f"{signature}.active_parameter_support"),
        pulls_diagnostics=has("text_document.diagnostic"),
        refreshes_diagnostics=has("workspace.diagnostics.refresh_support"),
        refreshes_inlay_hints=has("workspace.inlay_hint.refresh_support"),
        refreshes_code_lenses=has("workspace.code_lens.refresh_support"),
        refreshes_folds=has("workspace.folding_range.refresh_support"),
        registers_documents=has("text_document.synchronization.dynamic_registration")
        and has("text_document.completion.dynamic_registration")
        and has("text_document.hover.dynamic_registration"),
        registers_shared_names=all(
            has(f"text_document.{feature}.dynamic_registration")
            for feature in ("synchronization", "definition", "references", "rename", "document_highlight")
        ),
        refreshes_semantic_tokens=has("workspace.semantic_tokens.refresh_support"),
        related_information=has("text_document.publish_diagnostics.related_information")
        or has("text_document.diagnostic.related_information"),
        diagnostic_tags=str(types.DiagnosticTag.Unnecessary.value)
        in (
            *formats("text_document.publish_diagnostics.tag_support.value_set"),
            *formats("text_document.diagnostic.tag_support.value_set"),
        ),
        code_descriptions=has("text_document.publish_diagnostics.code_description_support")
        or has("text_document.diagnostic.code_description_support"),
        diagnostic_data=has("text_document.publish_diagnostics.data_support")
        or has("text_document.diagnostic.data_support"),
        related_documents=has("text_document.diagnostic.related_document_support"),
        markdown="markdown" in formats("text_document.hover.content_format"),
        symbol_tree=has("text_document.document_symbol.hierarchical_document_symbol_support"),
        code_action_literals=has("text_document.code_action.code_action_literal_support"),
        applies_edits=has("workspace.apply_edit"),
        disabled_actions=has("text_document.code_action.disabled_support"),
        preferred_actions=has("text_document.code_action.is_preferred_support"),
        resolves_actions="edit" in formats("text_document.code_action.resolve_support.properties")
        and has("text_document.code_action.data_support"),
        creates_files="create" in formats("workspace.workspace_edit.resource_operations"),
        versioned_edits=has("workspace.workspace_edit.document_changes"),
        change_annotations=has("workspace.workspace_edit.change_annotation_support"),
        definition_links=has("text_document.definition.link_support"),
        declaration_links=has("text_document.declaration.link_support"),
        resolves_symbols="location.range" in formats("workspace.symbol.resolve_support.properties"),
        newer_symbol_kinds=has("workspace.symbol.symbol_kind.value_set"),
        newer_outline_kinds=has("text_document.document_symbol.symbol_kind.value_set"),
        folds_lines_only=has("text_document.folding_range.line_folding_only"),
        max_folds=max_folds(capabilities),
        fold_kinds=formats("text_document.folding_range.folding_range_kind.value_set"),
        fold_texts=has("text_document.folding_range.folding_range.collapsed_text"),
        link_tooltips=has("text_document.document_link.tooltip_support"),
        configuration=has("workspace.configuration"),
        registers_configuration=has("workspace.did_change_configuration.dynamic_registration"),
        watches_files=has("workspace.did_change_watched_files.dynamic_registration"),
        work_done_progress=has("window.work_done_progress"),
        shows_documents=has("window.show_document.support"),
        panels=has("experimental.promptls.panels"),
        models=has("experimental.promptls.models"),
    )


def max_folds(capabilities: types.ClientCapabilities) -> int | None:
    """Return how many folds of a file the client wants at most."""
    text_document = capabilities.text_document
    folding = text_document.folding_range if text_document is not None else None
    return folding.range_limit if folding is not None else None
