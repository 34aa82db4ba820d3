"""The beginning of a session, and changes of its folders."""

from __future__ import annotations

import asyncio
import gc
import logging
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.server import commands, configuration, registrations, requests
from promptls.server.shown_text import remove_leftovers
from promptls.server.uris import path_of

if TYPE_CHECKING:
    from lsprotocol import types

    from promptls.server.context import Context
    from promptls.server.state.scan import Scan
    from promptls.server.trust import Trust

log = logging.getLogger(__name__)

_SETTINGS_SECONDS: Final = 2.0
"""How long messages wait for a client that does not send its settings."""
_SCAN_SECONDS: Final = 0.3
"""How long messages wait for the scan of the workspace."""
_FIRST_MODULES: Final = (
    "promptls.semantic.header",
    "promptls.lint.registry",
    "promptls.lint.runner",
    "promptls.server.state.renderings",
    "promptls.ide.experiments",
)
"""What the first diagnostics need, then what the first pause in typing needs."""


async def initialized(context: Context, scan: Scan) -> None:
    """Wait for the settings of the client and for the includes in the workspace, but not for long.

    Until then the protocol defers all other messages.
    """
    context.start(_preload(), "loading what requests will need")
    context.start(asyncio.to_thread(remove_leftovers), "the removal of old files")
    scanning = scan.start()
    settings = context.start(configuration.fetch(context), "the settings")
    await asyncio.wait([settings], timeout=_SETTINGS_SECONDS)
    await asyncio.wait([scanning], timeout=_SCAN_SECONDS)
    registrations.register_all(context)


def did_change_workspace_folders(
    context: Context, trust: Trust, scan: Scan, params: types.DidChangeWorkspaceFoldersParams
) -> None:
    """Take the folders that the client has open now."""
    removed = {path_of(folder.uri) for folder in params.event.removed}
    roots = [root for root in context.snapshot.roots if root not in removed]
    added = [path_of(folder.uri) for folder in params.event.added]
    context.workspace.set_roots(map(Path, dict.fromkeys([*roots, *added])))
    trust.refresh()
    scan.start()


async def _preload() -> None:
    """Import the rules, then all handlers, one module at a time, so that messages are handled in between.

    `initialize` is answered before any of it is imported. Clients take a while before they open a file.
    """
    names = [
        *_FIRST_MODULES,
        *(f"{requests.__name__}.{module.name}" for module in pkgutil.iter_modules(requests.__path__)),
        *(f"{commands.__name__}.{module.name}" for module in pkgutil.iter_modules(commands.__path__)),
    ]
    try:
        for name in names:
            await asyncio.sleep(0)
            import_module(name)
        gc.freeze()  # what is loaded stays, and no collection has to look through it again
    except ImportError:
        log.exception("a part of the server cannot be loaded")
