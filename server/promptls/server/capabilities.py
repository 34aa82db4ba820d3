"""The capabilities of the client, resolved once into named values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsprotocol import types


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """Capabilities as named values; all False for a client that declares none."""

    pulls_diagnostics: bool = False
    """Pulls the diagnostics of a document, so the server pushes none."""
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
    """Shows the other locations that a diagnostic refers to."""
    diagnostic_tags: bool = False
    """Shows code that a diagnostic tags as unnecessary in a faded colour."""
    code_descriptions: bool = False
    """Makes a diagnostic's code a link."""
    diagnostic_data: bool = False
    """Returns the data of a diagnostic when it requests code actions."""
    related_documents: bool = False
    """Accepts diagnostics of related documents."""
    markdown: bool = False
    """Shows Markdown in hovers."""
    symbol_tree: bool = False
    """Accepts hierarchical document symbols."""
    snippets: bool = False
    """Supports snippets with placeholders in completed text."""
    insert_replace_edits: bool = False
    """Lets the user choose whether a completion item also replaces the rest of the word."""
    completion_formats: tuple[str, ...] = ()
    """The supported markup of the documentation of completion items; empty if unspecified."""
    completion_defaults: frozenset[str] = frozenset()
    """The properties for which a completion list may set a default for all its items."""
    label_details: bool = False
    """Shows parameters and origin beside the label of a completion item."""
    item_kinds: frozenset[int] = frozenset()
    """The supported kinds of completion items; empty if unspecified."""
    item_tags: bool = False
    """Marks deprecated completion items by a tag."""
    deprecated_items: bool = False
    """Marks deprecated completion items by the older `deprecated` property."""
    preselects: bool = False
    """Supports preselecting a completion item."""
    commit_characters: bool = False
    """Supports characters that accept a completion item when typed."""
    adjusts_indentation: bool = False
    """Supports the insert text mode that adjusts indentation."""
    signature_formats: tuple[str, ...] = ()
    """The supported markup of the documentation of signatures; empty if unspecified."""
    parameter_offsets: bool = False
    """Accepts parameters as offsets in the label of their signature."""
    signature_parameters: bool = False
    """Supports the active parameter as a property of a signature."""
    code_action_literals: bool = False
    """Accepts code actions, and not only commands."""
    applies_edits: bool = False
    """Applies edits that the server requests."""
    disabled_actions: bool = False
    """Shows disabled actions, with the reason."""
    preferred_actions: bool = False
    """Supports marking an action as preferred."""
    resolves_actions: bool = False
    """Requests the edits of an action once it is chosen."""
    creates_files: bool = False
    """Creates files as part of edits."""
    versioned_edits: bool = False
    """Accepts edits with the version of the document that they apply to."""
    change_annotations: bool = False
    """Asks the user to confirm edits whose annotations require it."""
    definition_links: bool = False
    """Accepts definitions as links, which include the range of their origin."""
    declaration_links: bool = False
    """Accepts declarations as links."""
    resolves_symbols: bool = False
    """Requests the location of a workspace symbol when it is needed."""
    newer_symbol_kinds: bool = False
    """Declares which kinds of workspace symbols it supports, beyond those of the first protocol version."""
    newer_outline_kinds: bool = False
    """Declares the same for document symbols."""
    folds_lines_only: bool = False
    """Folds whole lines only, and ignores columns."""
    max_folds: int | None = None
    """The maximum number of folds in a file; None for no limit."""
    fold_kinds: tuple[str, ...] = ()
    """The supported kinds of folds."""
    fold_texts: bool = False
    """Shows a text in place of a folded range."""
    link_tooltips: bool = False
    """Shows the tooltips of document links."""
    configuration: bool = False
    """Answers `workspace/configuration` requests."""
    registers_configuration: bool = False
    """Supports dynamic registration of `workspace/didChangeConfiguration`."""
    watches_files: bool = False
    """Supports dynamic registration of watched files."""
    work_done_progress: bool = False
    """Shows the progress of work that the server initiates."""
    shows_documents: bool = False
    """Supports `window/showDocument`."""
    panels: bool = False
    """Shows previews and results by itself, from a command's result."""
    models: bool = False
    """Answers requests to the models of its editor."""


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
    """Return the maximum number of folds in a file; None for no limit."""
    text_document = capabilities.text_document
    folding = text_document.folding_range if text_document is not None else None
    return folding.range_limit if folding is not None else None
