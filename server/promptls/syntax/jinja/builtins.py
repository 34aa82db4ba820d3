"""The filters, tests and functions that Jinja has without extensions: names, signatures, documentation."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from jinja2.filters import FILTERS as _FILTERS
from jinja2.tests import TESTS as _TESTS

from promptls.syntax.jinja.docstrings import markdown
from promptls.syntax.jinja.signature import Signature, Taken, python_signature

FILTERS: Final = frozenset(_FILTERS)
"""The names of Jinja's filters."""

TESTS: Final = frozenset(_TESTS)
"""The names of Jinja's tests, operators such as `==` among them."""

FUNCTIONS: Final[dict[str, tuple[Signature, str]]] = {
    "range": (
        Signature(
            "range",
            (
                Taken("start", "start", "place", is_required=True),
                Taken("stop", "stop", "place"),
                Taken("step", "step=1", "place"),
            ),
        ),
        "The numbers from `start` up to, but not including, `stop`. With one argument they begin at 0.",
    ),
    "dict": (Signature("dict", (Taken("items", "**items", "named"),)), "A mapping of its arguments."),
    "lipsum": (
        Signature(
            "lipsum",
            (Taken("n", "n=5"), Taken("html", "html=true"), Taken("min", "min=20"), Taken("max", "max=100")),
        ),
        "`n` paragraphs of meaningless text, of `min` to `max` words each.",
    ),
    "cycler": (
        Signature("cycler", (Taken("items", "*items", "rest"),)),
        "Gives its arguments in turn, one at each `.next()`.",
    ),
    "joiner": (
        Signature("joiner", (Taken("sep", "sep=', '"),)),
        "Empty at its first call, the separator at every further one.",
    ),
    "namespace": (
        Signature("namespace", (Taken("values", "**values", "named"),)),
        "Holds variables that a loop's body can change for good: `{% set ns.found = true %}`.",
    ),
}
"""The functions that every template may call."""

LOOP: Final = {
    "index": "The number of the turn, from 1.",
    "index0": "The number of the turn, from 0.",
    "revindex": "The number of turns left, counted down to 1.",
    "revindex0": "The number of turns left, counted down to 0.",
    "first": "Whether this is the first turn.",
    "last": "Whether this is the last turn.",
    "length": "How many turns there are.",
    "cycle": "`loop.cycle(a, b, …)`: one of its arguments in turn.",
    "depth": "How deep a recursive loop is, from 1.",
    "depth0": "How deep a recursive loop is, from 0.",
    "previtem": "The element of the turn before; undefined in the first.",
    "nextitem": "The element of the turn behind; undefined in the last.",
    "changed": "`loop.changed(value)`: whether the value is another one than at the last call.",
}
"""What `loop` knows in the body of a `for`."""


_PASSED: Final = frozenset({"environment", "env", "context", "eval_ctx"})


@lru_cache(maxsize=256)
def filter_signature(name: str) -> Signature:
    """What a filter takes beside the value that stands before the `|`."""
    return _signature(name, _FILTERS.get(name))


@lru_cache(maxsize=256)
def test_signature(name: str) -> Signature:
    """What a test takes beside the value that stands before the `is`."""
    return _signature(name, _TESTS.get(name))


@lru_cache(maxsize=256)
def filter_documentation(name: str) -> str:
    """What a filter does, in Markdown, out of jinja2's own docstring."""
    return markdown(getattr(_FILTERS.get(name), "__doc__", ""))


@lru_cache(maxsize=256)
def test_documentation(name: str) -> str:
    """What a test asks, in Markdown, out of jinja2's own docstring."""
    return markdown(getattr(_TESTS.get(name), "__doc__", ""))


def _signature(name: str, function: Any) -> Signature:
    if function is None:
        return Signature(name)
    whole = python_signature(name, function)
    # jinja2 passes the environment or context ahead of the value: neither is the template's to give.
    own = (
        whole.parameters[1:]
        if whole.parameters[:1] and whole.parameters[0].name in _PASSED
        else whole.parameters
    )
    return Signature(name, own[1:])
