"""The capabilities of VS Code 1.105 with vscode-languageclient 9 and our extension."""

from __future__ import annotations

from lsprotocol import types

VSCODE = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True,
            resource_operations=[
                types.ResourceOperationKind.Create,
                types.ResourceOperationKind.Rename,
                types.ResourceOperationKind.Delete,
            ],
            failure_handling=types.FailureHandlingKind.TextOnlyTransactional,
            normalizes_line_endings=True,
            change_annotation_support=types.ChangeAnnotationsSupportOptions(groups_on_label=True),
        ),
        symbol=types.WorkspaceSymbolClientCapabilities(
            symbol_kind=types.ClientSymbolKindOptions(list(types.SymbolKind)),
            resolve_support=types.ClientSymbolResolveOptions(["location.range"]),
        ),
        semantic_tokens=types.SemanticTokensWorkspaceClientCapabilities(refresh_support=True),
        folding_range=types.FoldingRangeWorkspaceClientCapabilities(refresh_support=True),
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
            dynamic_registration=True, relative_pattern_support=True
        ),
        execute_command=types.ExecuteCommandClientCapabilities(dynamic_registration=True),
        configuration=True,
        workspace_folders=True,
        file_operations=types.FileOperationClientCapabilities(
            dynamic_registration=True,
            did_create=True,
            will_create=True,
            did_rename=True,
            will_rename=True,
            did_delete=True,
            will_delete=True,
        ),
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
            dynamic_registration=True, content_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText]
        ),
        completion=types.CompletionClientCapabilities(
            dynamic_registration=True,
            context_support=True,
            insert_text_mode=types.InsertTextMode.AdjustIndentation,
            completion_item=types.ClientCompletionItemOptions(
                snippet_support=True,
                commit_characters_support=True,
                documentation_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText],
                deprecated_support=True,
                preselect_support=True,
                tag_support=types.CompletionItemTagOptions([types.CompletionItemTag.Deprecated]),
                insert_replace_support=True,
                resolve_support=types.ClientCompletionItemResolveOptions(
                    ["documentation", "detail", "additionalTextEdits"]
                ),
                insert_text_mode_support=types.ClientCompletionItemInsertTextModeOptions(
                    [types.InsertTextMode.AsIs, types.InsertTextMode.AdjustIndentation]
                ),
                label_details_support=True,
            ),
            completion_item_kind=types.ClientCompletionItemOptionsKind(list(types.CompletionItemKind)),
            completion_list=types.CompletionListCapabilities(
                ["commitCharacters", "editRange", "insertTextFormat", "insertTextMode", "data"]
            ),
        ),
        signature_help=types.SignatureHelpClientCapabilities(
            dynamic_registration=True,
            context_support=True,
            signature_information=types.ClientSignatureInformationOptions(
                documentation_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText],
                parameter_information=types.ClientSignatureParameterInformationOptions(
                    label_offset_support=True
                ),
                active_parameter_support=True,
            ),
        ),
        definition=types.DefinitionClientCapabilities(dynamic_registration=True, link_support=True),
        references=types.ReferenceClientCapabilities(dynamic_registration=True),
        document_highlight=types.DocumentHighlightClientCapabilities(dynamic_registration=True),
        declaration=types.DeclarationClientCapabilities(link_support=True),
        rename=types.RenameClientCapabilities(
            dynamic_registration=True, prepare_support=True, honors_change_annotations=True
        ),
        folding_range=types.FoldingRangeClientCapabilities(
            range_limit=5000,
            line_folding_only=True,
            folding_range_kind=types.ClientFoldingRangeKindOptions(list(types.FoldingRangeKind)),
            folding_range=types.ClientFoldingRangeOptions(collapsed_text=False),
        ),
        selection_range=types.SelectionRangeClientCapabilities(dynamic_registration=True),
        linked_editing_range=types.LinkedEditingRangeClientCapabilities(dynamic_registration=True),
        call_hierarchy=types.CallHierarchyClientCapabilities(dynamic_registration=True),
        semantic_tokens=types.SemanticTokensClientCapabilities(
            requests=types.ClientSemanticTokensRequestOptions(
                range=True, full=types.ClientSemanticTokensRequestFullDelta(delta=True)
            ),
            token_types=[each.value for each in types.SemanticTokenTypes],
            token_modifiers=[each.value for each in types.SemanticTokenModifiers],
            formats=[types.TokenFormat.Relative],
            overlapping_token_support=False,
            multiline_token_support=False,
            server_cancel_support=True,
            augments_syntax_tokens=True,
        ),
        document_symbol=types.DocumentSymbolClientCapabilities(
            hierarchical_document_symbol_support=True,
            symbol_kind=types.ClientSymbolKindOptions(list(types.SymbolKind)),
        ),
        document_link=types.DocumentLinkClientCapabilities(tooltip_support=True),
        code_action=types.CodeActionClientCapabilities(
            is_preferred_support=True,
            disabled_support=True,
            data_support=True,
            resolve_support=types.ClientCodeActionResolveOptions(["edit", "command"]),
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
    experimental={"promptls": {"panels": True, "models": True}},
)
