"""Loads what the first requests will need while the client is still getting ready.

`initialize` is answered before any of it is loaded. Between that answer and the first open file a
client does things of its own, and that time is enough for most of it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from importlib import import_module
from typing import Final

from promptls.protocol.dispatch import resolved
from promptls.protocol.method_table import METHODS

log = logging.getLogger(__name__)

_FIRST: Final = ("promptls.meaning.header", "promptls.rules.registry", "promptls.rules.checking.check")
"""The modules that the first diagnostics need."""
_SECOND: Final = ("promptls.protocol.kept.renderings", "promptls.features.experiment_runs")
"""Those that are needed when the typing first pauses."""


async def preload() -> None:
    """Load the rules, then the handlers of all methods; messages that arrive have their turn in between."""
    try:
        for module in (*_FIRST, *_SECOND):
            await asyncio.sleep(0)
            import_module(module)
        for method in METHODS:
            await asyncio.sleep(0)
            resolved(method.handler)
        gc.freeze()  # what is loaded stays, and no collection has to look through it again
    except ImportError:
        log.exception("a part of the server cannot be loaded")
