"""Regular expressions that come from a file or an answer, searched in bounded time.

A pattern may backtrack for years on a short text. The engine of the standard library cannot be interrupted;
that of the package `regex` can.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

SEARCH_SECONDS: Final = 1.0
"""How long one search may take where the caller gives no limit, in seconds of the processor."""

MAX_PATTERN_LENGTH: Final = 10_000
"""Characters of a pattern. Compiling one takes time too, and has no limit of its own."""

MAX_UNROLLED: Final = 50_000
"""Items of a pattern after unrolling: `regex` makes a million of `((a{100}){100}){100}`."""

_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")


class PatternError(ValueError):
    """A text that is no regular expression, or one that takes too much to compile."""


def search_pattern(
    pattern: str, text: str, *, whole: bool = False, seconds: float = SEARCH_SECONDS
) -> str | None:
    """Return the first match of the pattern in the text, or None; with `whole`, only one of all the text.

    The notation is Python's. Raises `PatternError`, and `TimeoutError` after `seconds`.
    """
    compiled = _compiled(pattern)
    match = (compiled.fullmatch if whole else compiled.search)(text, timeout=seconds)
    return None if match is None else str(match.group())


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternError(f"it is longer than {MAX_PATTERN_LENGTH:,} characters")
    if "{" in pattern and _VERBOSE.search(pattern):
        # `regex` takes `{ 3 }` for a count there, and Python does not.
        raise PatternError("braces and the flag `x` cannot be combined; write the pattern without the flag")
    # tiktoken needs `regex` as well. It has no type stubs.
    regex = import_module("regex")
    parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            too_large = _unrolled(parser.parse(pattern)) > MAX_UNROLLED
            compiled = None if too_large else regex.compile(pattern)
    except (re.error, regex.error) as error:
        raise PatternError(str(error)) from None
    except (RecursionError, OverflowError):
        raise PatternError("it is nested too deeply, or counts too far") from None
    if compiled is None:
        raise PatternError(f"its repeats stand for more than {MAX_UNROLLED:,} characters")
    return compiled


def _unrolled(tree: Iterable[tuple[Any, Any]]) -> int:
    """Return about how many items `regex` makes of a parsed pattern: it writes `x+` as `xx*`."""
    size = 0
    for operation, argument in tree:
        inner = 1 + sum(map(_unrolled, _inner_trees(argument)))
        if str(operation).endswith("_REPEAT"):
            low, high, _tree = argument
            inner *= max(1, low + (high > low))
        size += inner
    return size


def _inner_trees(argument: Any) -> Iterator[Any]:
    if hasattr(argument, "getwidth"):
        yield argument
    elif isinstance(argument, tuple | list):
        for each in argument:
            yield from _inner_trees(each)
