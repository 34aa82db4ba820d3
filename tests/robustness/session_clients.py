"""The clients of random sessions: with many capabilities, with few, in each position encoding."""

from __future__ import annotations

from typing import Any

_RICH: dict[str, Any] = {
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "semanticTokens": {"refreshSupport": True},
        "diagnostics": {"refreshSupport": True},
        "fileOperations": {"didCreate": True, "didRename": True, "didDelete": True, "willRename": True},
    },
    "textDocument": {
        "diagnostic": {"relatedDocumentSupport": True},
        "publishDiagnostics": {
            "relatedInformation": True,
            "tagSupport": {"valueSet": [1, 2]},
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "versionSupport": True,
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "completion": {
            "completionItem": {
                "snippetSupport": True,
                "documentationFormat": ["markdown"],
                "insertReplaceSupport": True,
                "labelDetailsSupport": True,
                "resolveSupport": {"properties": ["documentation", "detail"]},
            }
        },
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "rename": {"prepareSupport": True},
        "foldingRange": {},
        "semanticTokens": {
            "requests": {"range": True, "full": {"delta": True}},
            "tokenTypes": ["variable", "property", "keyword", "string", "function", "parameter", "macro"],
            "tokenModifiers": ["declaration", "definition", "readonly"],
            "formats": ["relative"],
        },
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": False}},
}


def _with_encoding(encoding: str) -> dict[str, Any]:
    return {**_RICH, "general": {"positionEncodings": [encoding]}}


CLIENTS: dict[str, dict[str, Any]] = {
    "rich, UTF-16": _with_encoding("utf-16"),
    "rich, UTF-8": _with_encoding("utf-8"),
    "rich, UTF-32": _with_encoding("utf-32"),
    "poor": {},
    "pushed, UTF-8": {"general": {"positionEncodings": ["utf-8"]}, "workspace": {"configuration": True}},
}
