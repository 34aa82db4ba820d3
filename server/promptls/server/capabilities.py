"""The capabilities of the client, resolved once into named values."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from lsprotocol import types


def _declared(*paths: str) -> Any:
    """Return a field that is True if the client declares the capability at one of the paths."""
    return field(default=False, metadata={"paths": paths})


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """Capabilities as named values; all False for a client that declares none."""

    pulls_diagnostics: bool = _declared("text_document.diagnostic")
    """Pulls the diagnostics of a document, so the server pushes none."""
    refreshes_diagnostics: bool = _declared("workspace.diagnostics.refresh_support")
    """Requests all diagnostics again on `workspace/diagnostic/refresh`."""
    refreshes_inlay_hints: bool = _declared("workspace.inlay_hint.refresh_support")
    """Requests all inlay hints again on `workspace/inlayHint/refresh`."""
    refreshes_code_lenses: bool = _declared("workspace.code_lens.refresh_support")
    """Requests all code lenses again on `workspace/codeLens/refresh`."""
    refreshes_folds: bool = _declared("workspace.folding_range.refresh_support")
    """Requests all folds again on `workspace/foldingRange/refresh`."""
    registers_documents: bool = False
    """Supports dynamic registration of documents, completion and hover."""
    registers_shared_names: bool = False
    """Supports dynamic registration of documents, definitions, references, rename and highlights."""
    refreshes_semantic_tokens: bool = _declared("workspace.semantic_tokens.refresh_support")
    """Requests all semantic tokens again on `workspace/semanticTokens/refresh`."""
    related_information: bool = _declared(
        "text_document.publish_diagnostics.related_information",
        "text_document.diagnostic.related_information",
    )
    """Shows the other locations that a diagnostic refers to."""
    diagnostic_tags: bool = False
    """Shows code that a diagnostic tags as unnecessary in a faded color."""
    code_descriptions: bool = _declared(
        "text_document.publish_diagnostics.code_description_support",
        "text_document.diagnostic.code_description_support",
    )
    """Makes a diagnostic's code a link."""
    diagnostic_data: bool = _declared(
        "text_document.publish_diagnostics.data_support", "text_document.diagnostic.data_support"
    )
    """Returns the data of a diagnostic when it requests code actions."""
    related_documents: bool = _declared("text_document.diagnostic.related_document_support")
    """Accepts diagnostics of related documents."""
    markdown: bool = False
    """Shows Markdown in hovers."""
    symbol_tree: bool = _declared("text_document.document_symbol.hierarchical_document_symbol_support")
    """Accepts hierarchical document symbols."""
    snippets: bool = _declared("text_document.completion.completion_item.snippet_support")
    """Supports snippets with placeholders in completed text."""
    insert_replace_edits: bool = _declared("text_document.completion.completion_item.insert_replace_support")
    """Lets the user choose whether a completion item also replaces the rest of the word."""
    completion_formats: tuple[str, ...] = ()
    """The supported markup of the documentation of completion items; empty if unspecified."""
    completion_defaults: frozenset[str] = frozenset()
    """The properties for which a completion list may set a default for all its items."""
    label_details: bool = _declared("text_document.completion.completion_item.label_details_support")
    """Shows parameters and origin beside the label of a completion item."""
    item_kinds: frozenset[int] = frozenset()
    """The supported kinds of completion items; empty if unspecified."""
    item_tags: bool = _declared("text_document.completion.completion_item.tag_support")
    """Marks deprecated completion items by a tag."""
    deprecated_items: bool = _declared("text_document.completion.completion_item.deprecated_support")
    """Marks deprecated completion items by the older `deprecated` property."""
    preselects: bool = _declared("text_document.completion.completion_item.preselect_support")
    """Supports preselecting a completion item."""
    commit_characters: bool = _declared("text_document.completion.completion_item.commit_characters_support")
    """Supports characters that accept a completion item when typed."""
    adjusts_indentation: bool = False
    """Supports the insert text mode that adjusts indentation."""
    signature_formats: tuple[str, ...] = ()
    """The supported markup of the documentation of signatures; empty if unspecified."""
    parameter_offsets: bool = _declared(
        "text_document.signature_help.signature_information.parameter_information.label_offset_support"
    )
    """Accepts parameters as offsets in the label of their signature."""
    signature_parameters: bool = _declared(
        "text_document.signature_help.signature_information.active_parameter_support"
    )
    """Supports the active parameter as a property of a signature."""
    code_action_literals: bool = _declared("text_document.code_action.code_action_literal_support")
    """Accepts code actions, and not only commands."""
    applies_edits: bool = _declared("workspace.apply_edit")
    """Applies edits that the server requests."""
    disabled_actions: bool = _declared("text_document.code_action.disabled_support")
    """Shows disabled actions, with the reason."""
    preferred_actions: bool = _declared("text_document.code_action.is_preferred_support")
    """Supports marking an action as preferred."""
    resolves_actions: bool = False
    """Requests the edits of an action once it is chosen."""
    creates_files: bool = False
    """Creates files as part of edits."""
    versioned_edits: bool = _declared("workspace.workspace_edit.document_changes")
    """Accepts edits with the version of the document that they apply to."""
    change_annotations: bool = _declared("workspace.workspace_edit.change_annotation_support")
    """Asks the user to confirm edits whose annotations require it."""
    definition_links: bool = _declared("text_document.definition.link_support")
    """Accepts definitions as links, which include the range of their origin."""
    declaration_links: bool = _declared("text_document.declaration.link_support")
    """Accepts declarations as links."""
    resolves_symbols: bool = False
    """Requests the location of a workspace symbol when it is needed."""
    newer_symbol_kinds: bool = _declared("workspace.symbol.symbol_kind.value_set")
    """Declares which kinds of workspace symbols it supports, beyond those of the first protocol version."""
    newer_outline_kinds: bool = _declared("text_document.document_symbol.symbol_kind.value_set")
    """Declares the same for document symbols."""
    folds_lines_only: bool = _declared("text_document.folding_range.line_folding_only")
    """Folds whole lines only, and ignores columns."""
    max_folds: int | None = None
    """The maximum number of folds in a file; None for no limit."""
    fold_kinds: tuple[str, ...] = ()
    """The supported kinds of folds."""
    fold_texts: bool = _declared("text_document.folding_range.folding_range.collapsed_text")
    """Shows a text in place of a folded range."""
    link_tooltips: bool = _declared("text_document.document_link.tooltip_support")
    """Shows the tooltips of document links."""
    configuration: bool = _declared("workspace.configuration")
    """Answers `workspace/configuration` requests."""
    registers_configuration: bool = _declared("workspace.did_change_configuration.dynamic_registration")
    """Supports dynamic registration of `workspace/didChangeConfiguration`."""
    watches_files: bool = _declared("workspace.did_change_watched_files.dynamic_registration")
    """Supports dynamic registration of watched files."""
    work_done_progress: bool = _declared("window.work_done_progress")
    """Shows the progress of work that the server initiates."""
    shows_documents: bool = _declared("window.show_document.support")
    """Supports `window/showDocument`."""
    panels: bool = _declared("experimental.promptls.panels")
    """Shows previews and results by itself, from a command's result."""
    models: bool = _declared("experimental.promptls.models")
    """Answers requests to the models of its editor."""


def resolve_capabilities(capabilities: types.ClientCapabilities) -> ClientCapabilities:
    """Return the capabilities that change what the server does."""

    def capability(path: str) -> Any:
        value: Any = capabilities
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        return value

    def has(path: str) -> bool:
        value = capability(path)
        return value is not None and value is not False

    def formats(path: str) -> tuple[str, ...]:
        return tuple(str(getattr(each, "value", each)) for each in capability(path) or ())

    declared = {
        each.name: any(map(has, each.metadata["paths"]))
        for each in fields(ClientCapabilities)
        if "paths" in each.metadata
    }
    return ClientCapabilities(
        **declared,
        completion_formats=formats("text_document.completion.completion_item.documentation_format"),
        completion_defaults=frozenset(formats("text_document.completion.completion_list.item_defaults")),
        item_kinds=frozenset(map(int, formats("text_document.completion.completion_item_kind.value_set"))),
        adjusts_indentation="2"
        in formats("text_document.completion.completion_item.insert_text_mode_support.value_set"),
        signature_formats=formats("text_document.signature_help.signature_information.documentation_format"),
        registers_documents=has("text_document.synchronization.dynamic_registration")
        and has("text_document.completion.dynamic_registration")
        and has("text_document.hover.dynamic_registration"),
        registers_shared_names=all(
            has(f"text_document.{feature}.dynamic_registration")
            for feature in ("synchronization", "definition", "references", "rename", "document_highlight")
        ),
        diagnostic_tags=str(types.DiagnosticTag.Unnecessary.value)
        in (
            *formats("text_document.publish_diagnostics.tag_support.value_set"),
            *formats("text_document.diagnostic.tag_support.value_set"),
        ),
        markdown="markdown" in formats("text_document.hover.content_format"),
        resolves_actions="edit" in formats("text_document.code_action.resolve_support.properties")
        and has("text_document.code_action.data_support"),
        creates_files="create" in formats("workspace.workspace_edit.resource_operations"),
        resolves_symbols="location.range" in formats("workspace.symbol.resolve_support.properties"),
        max_folds=capability("text_document.folding_range.range_limit"),
        fold_kinds=formats("text_document.folding_range.folding_range_kind.value_set"),
    )
