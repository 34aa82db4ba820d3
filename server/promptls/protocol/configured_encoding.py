"""What columns count for clients that count otherwise than they say.

Vim's ALE counts bytes, and lsp-mode 8 characters, where the protocol has UTF-16 units unless client
and server agree on something else. Their configurations can say so.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types


def with_configured_encoding(params: types.InitializeParams) -> types.InitializeParams:
    """The parameters with the `positionEncoding` of the initialization options as all that the client takes.

    The same parameters where there is none, or none that the protocol knows.
    """
    options: Any = params.initialization_options
    name = options.get("positionEncoding") if isinstance(options, dict) else None
    if name not in {"utf-8", "utf-16", "utf-32"}:
        return params
    if params.capabilities.general is None:
        params.capabilities.general = types.GeneralClientCapabilities()
    params.capabilities.general.position_encodings = [types.PositionEncodingKind(name)]
    return params
