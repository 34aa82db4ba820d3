"""Search with regular expressions that come from a file or an answer, in bounded time.

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
"""The default limit of one search, in seconds of processor time."""

MAX_PATTERN_LENGTH: Final = 10_000
"""The maximum length of a pattern. Compiling one takes time too, and cannot be limited separately."""

MAX_UNROLLED: Final = 50_000
"""The maximum size of a pattern after unrolling: `((a{100}){100}){100}` has a million items in `regex`."""

_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")


class PatternError(ValueError):
    """A text that is not a valid regular expression, or one that is too expensive to compile."""


def search_pattern(
    pattern: str, text: str, *, whole: bool = False, seconds: float = SEARCH_SECONDS
) -> str | None:
    """Return the first match of the pattern in the text, or None; with `whole`, only a match of all the text.

    The syntax is Python's. Raises `PatternError`, and `TimeoutError` after `seconds`.
    """
    compiled = _compile(pattern)
    match = (compiled.fullmatch if whole else compiled.search)(text, timeout=seconds)
    return None if match is None else str(match.group())


def checked_pattern(pattern: str) -> str:
    """Return the pattern; raises `PatternError`, a ValueError."""
    _compile(pattern)
    return pattern


@lru_cache(maxsize=256)
def _compile(pattern: str) -> Any:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternError(f"it is longer than {MAX_PATTERN_LENGTH:,} characters")
    if "{" in pattern and _VERBOSE.search(pattern):
        # `regex` parses `{ 3 }` as a count here, and Python does not.
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
        raise PatternError(f"its repetitions expand to more than {MAX_UNROLLED:,} characters")
    return compiled


def _unrolled(tree: Iterable[tuple[Any, Any]]) -> int:
    """Return about how many items `regex` creates for a parsed pattern: it expands `x+` to `xx*`."""
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
