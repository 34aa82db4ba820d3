"""What VS Code 1.105 with vscode-languageclient 9, and our extension, say of themselves."""

from __future__ import annotations

from lsprotocol import types

VSCODE = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
            dynamic_registration=True, relative_pattern_support=True
        ),
        execute_command=types.ExecuteCommandClientCapabilities(dynamic_registration=True),
        configuration=True,
        workspace_folders=True,
        code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
    ),
    text_document=types.TextDocumentClientCapabilities(
        synchronization=types.TextDocumentSyncClientCapabilities(dynamic_registration=True, did_save=True),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            related_information=True,
            tag_support=types.ClientDiagnosticsTagOptions([types.DiagnosticTag.Unnecessary]),
            code_description_support=True,
            data_support=True,
        ),
        diagnostic=types.DiagnosticClientCapabilities(dynamic_registration=True),
        hover=types.HoverClientCapabilities(
            content_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText]
        ),
        definition=types.DefinitionClientCapabilities(link_support=True),
        document_symbol=types.DocumentSymbolClientCapabilities(
            hierarchical_document_symbol_support=True,
            symbol_kind=types.ClientSymbolKindOptions(list(types.SymbolKind)),
        ),
        document_link=types.DocumentLinkClientCapabilities(tooltip_support=True),
        code_action=types.CodeActionClientCapabilities(
            is_preferred_support=True,
            code_action_literal_support=types.ClientCodeActionLiteralOptions(
                types.ClientCodeActionKindOptions(
                    ["", "quickfix", "refactor", "source", "source.organizeImports"]
                )
            ),
        ),
        code_lens=types.CodeLensClientCapabilities(dynamic_registration=True),
        inlay_hint=types.InlayHintClientCapabilities(dynamic_registration=True),
    ),
    window=types.WindowClientCapabilities(
        work_done_progress=True,
        show_message=types.ShowMessageRequestClientCapabilities(),
        show_document=types.ShowDocumentClientCapabilities(support=True),
    ),
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
    experimental={"promptls": {"panels": True}},
)
