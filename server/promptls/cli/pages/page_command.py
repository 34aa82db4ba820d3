"""Shared code of commands that serve a page: options, start and end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Coroutine
from typing import Any

from promptls.cli.input.options import whole_number


def add_page_arguments(parser: argparse._ActionsContainer) -> None:
    """Declare how the page is reached."""
    parser.add_argument(
        "--port", metavar="PORT", type=whole_number, default=0, help="port (default: any free one)"
    )
    parser.add_argument("--no-open", action="store_true", help="print the address without opening a browser")


def serve_until_interrupted(serving: Coroutine[Any, Any, None], ended: str) -> int:
    """Serve until Ctrl+C, then says that it has `ended`; raises UserError where it cannot be served."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serving)
    print(f"\n{ended}", file=sys.stderr)
    return 0
