"""The keywords of tags, and Jinja's filters, tests and functions: names, signatures, documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from jinja2.filters import FILTERS as _FILTERS
from jinja2.tests import TESTS as _TESTS

_ROLE: Final = re.compile(r":\w+:`(?:([^`<]*?)\s*<[^`>]*>|~?[\w.-]*?\.?([\w-]+(?:\(\))?))`")
_LITERAL: Final = re.compile(r"``([^`]+)``")
_LINK: Final = re.compile(r"`([^`<]+?)\s*(?:<[^>]*>)?`_+")
_CODE: Final = re.compile(r"\.\. (?:sourcecode|code-block|code)::\s*(\S*)\s*$")
_DIRECTIVE: Final = re.compile(r"\.\. ")
_FIELD: Final = re.compile(r":(?:param (?:[\w.]+ )?(?P<name>\w+)|returns?|raises \w+):\s*(?P<text>.*)$")
_BULLET: Final = re.compile(r"[-*]\s+")
_LANGUAGES: Final = {"jinja": "jinja", "html+jinja": "jinja", "python": "python", "pycon": "python"}


def markdown(docstring: str | None) -> str:
    """Return the docstring in Markdown, without its notes on versions; empty if there is none."""
    if not docstring:
        return ""
    blocks = _blocks(inspect.cleandoc(docstring).splitlines())
    return "\n\n".join(block for block in blocks if block)


def _blocks(lines: list[str]) -> list[str]:
    blocks: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        code = _CODE.match(line)
        if code:
            body, index = _indent(lines, index + 1)
            language = _LANGUAGES.get(code[1], "")
            blocks.append(f"```{language}\n" + "\n".join(body) + "\n```")
        elif _DIRECTIVE.match(line):
            _, index = _indent(lines, index + 1)
        elif not line.strip():
            index += 1
        elif field := _FIELD.match(line):
            rest, index = _indent(lines, index + 1, blank=False)
            description = " ".join([field["text"], *(each.strip() for each in rest)]).strip()
            item = f"- `{field['name']}`: {_inline(description)}" if field["name"] else _inline(description)
            if field["name"] and blocks and blocks[-1].startswith("- `"):
                blocks[-1] += f"\n{item}"
            else:
                blocks.append(item)
        else:
            paragraph, index = _paragraph(lines, index)
            blocks.append(paragraph)
    return blocks


def _paragraph(lines: list[str], index: int) -> tuple[str, int]:
    begin = index
    while index < len(lines) and lines[index].strip() and not _DIRECTIVE.match(lines[index]):
        if index > begin and _FIELD.match(lines[index]):
            break
        index += 1
    consumed = lines[begin:index]
    if _BULLET.match(consumed[0]):
        return "\n".join(_inline(each) for each in consumed), index
    text = " ".join(each.strip() for each in consumed)
    if text.endswith("::"):
        text = text[:-1]
        body, index = _indent(lines, index)
        return f"{_inline(text)}\n\n```\n" + "\n".join(body) + "\n```", index
    return _inline(text), index


def _indent(lines: list[str], index: int, *, blank: bool = True) -> tuple[list[str], int]:
    """Return the indented lines from `index` on, without the indentation, and the index after them."""
    consumed: list[str] = []
    while index < len(lines) and (
        lines[index].startswith((" ", "\t")) or (blank and not lines[index].strip())
    ):
        consumed.append(lines[index])
        index += 1
    return inspect.cleandoc("\n".join(["", *consumed])).strip("\n").splitlines(), index


def _inline(text: str) -> str:
    text = _ROLE.sub(lambda found: f"`{found[1] or found[2]}`", text)
    text = _LITERAL.sub(lambda found: f"`{found[1]}`", text)
    return _LINK.sub(lambda found: found[1], text)


TakenKind = Literal["any", "place", "keyword", "rest", "named"]


class Taken(NamedTuple):
    """A parameter: its name, its text with default, and how arguments are matched to it.

    `rest` accepts all further arguments, `named` all further keyword arguments; `keyword` can only be passed
    by keyword, and `place` only by position.
    """

    name: str
    text: str
    kind: TakenKind = "any"
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """A name with its parameters in order."""

    name: str
    parameters: tuple[Taken, ...] = ()

    @property
    def text(self) -> str:
        """The signature on one line: `truncate(length=255, killwords=False)`."""
        return f"{self.name}{self.parameter_list}"

    @property
    def parameter_list(self) -> str:
        """The parameters in parentheses."""
        return f"({', '.join(parameter.text for parameter in self.parameters)})"

    @property
    def needs_arguments(self) -> bool:
        """Whether it cannot be called without arguments."""
        return any(parameter.is_required for parameter in self.parameters)

    def active(self, commas: int, keyword: str) -> int | None:
        """Return the index of the parameter that an argument after so many commas is passed to.

        `keyword` is its keyword, if any. None if there is no such parameter.
        """
        for index, parameter in enumerate(self.parameters):
            if keyword and parameter.name == keyword and parameter.kind in {"any", "keyword"}:
                return index
        if keyword:
            return next((i for i, each in enumerate(self.parameters) if each.kind == "named"), None)
        for index, parameter in enumerate(self.parameters):
            if parameter.kind == "rest" or (index == commas and parameter.kind in {"any", "place"}):
                return index
        return next((i for i, each in enumerate(self.parameters) if each.kind == "named"), None)


_KINDS: dict[Any, TakenKind] = {
    inspect.Parameter.POSITIONAL_ONLY: "place",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "rest",
    inspect.Parameter.VAR_KEYWORD: "named",
}


def python_signature(name: str, function: Callable[..., Any]) -> Signature:
    """Return the signature of a Python function; without parameters if they are unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some C functions
        return Signature(name)
    return Signature(name, tuple(map(_taken, parameters)))


def _taken(parameter: inspect.Parameter) -> Taken:
    kind = _KINDS[parameter.kind]
    stars = {"rest": "*", "named": "**"}.get(kind, "")
    is_required = parameter.default is parameter.empty and not stars
    default = "" if parameter.default is parameter.empty else f"={_shown(parameter.default)}"
    return Taken(parameter.name, f"{stars}{parameter.name}{default}", kind, is_required)


def _shown(value: Any) -> str:
    """Return a default in Jinja syntax."""
    return str(value).lower() if value is None or isinstance(value, bool) else repr(value)


FILTERS: Final = frozenset(_FILTERS)

TESTS: Final = frozenset(_TESTS)
"""The names of Jinja's tests, including operators such as `==`."""

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
        "Returns its arguments in a cycle, one per `.next()`.",
    ),
    "joiner": (
        Signature("joiner", (Taken("sep", "sep=', '"),)),
        "Empty at its first call, the separator at every later one.",
    ),
    "namespace": (
        Signature("namespace", (Taken("values", "**values", "named"),)),
        "Variables that a loop's body can change permanently: `{% set ns.found = true %}`.",
    ),
}
"""The functions that every template may call."""

LOOP: Final = {
    "index": "The current iteration, counted from 1.",
    "index0": "The current iteration, counted from 0.",
    "revindex": "The number of iterations from the end, down to 1.",
    "revindex0": "The number of iterations from the end, down to 0.",
    "first": "Whether this is the first iteration.",
    "last": "Whether this is the last iteration.",
    "length": "The number of elements.",
    "cycle": "`loop.cycle(a, b, …)`: one of its arguments per iteration, in a cycle.",
    "depth": "The depth of a recursive loop, counted from 1.",
    "depth0": "The depth of a recursive loop, counted from 0.",
    "previtem": "The element of the previous iteration; undefined in the first.",
    "nextitem": "The element of the next iteration; undefined in the last.",
    "changed": "`loop.changed(value)`: whether the value has changed since the last call.",
}
"""The attributes of `loop` in the body of a `for`."""


_PASSED: Final = frozenset({"environment", "env", "context", "eval_ctx"})


@lru_cache(maxsize=256)
def filter_signature(name: str) -> Signature:
    """Return the parameters of a filter, without the value before the `|`."""
    return _signature(name, _FILTERS.get(name))


@lru_cache(maxsize=256)
def test_signature(name: str) -> Signature:
    """Return the parameters of a test, without the value before the `is`."""
    return _signature(name, _TESTS.get(name))


@lru_cache(maxsize=256)
def filter_documentation(name: str) -> str:
    """Return the documentation of a filter in Markdown, from jinja2's docstring."""
    return markdown(getattr(_FILTERS.get(name), "__doc__", ""))


@lru_cache(maxsize=256)
def test_documentation(name: str) -> str:
    """Return the documentation of a test in Markdown, from jinja2's docstring."""
    return markdown(getattr(_TESTS.get(name), "__doc__", ""))


def _signature(name: str, function: Any) -> Signature:
    if function is None:
        return Signature(name)
    whole = python_signature(name, function)
    # jinja2 passes the environment or context before the value; templates do not pass either.
    own = (
        whole.parameters[1:]
        if whole.parameters[:1] and whole.parameters[0].name in _PASSED
        else whole.parameters
    )
    return Signature(name, own[1:])


BLOCKS: Final = frozenset(
    {"for", "if", "block", "macro", "call", "filter", "set", "with", "autoescape", "raw"}
)
"""Keywords that can open a block; `set` does so only without a value."""

MIDDLES: Final = {"elif": ("if",), "else": ("if", "for")}
"""Keywords that divide a block, and the blocks that they divide."""

KEYWORDS: Final = (
    BLOCKS
    | {"elif", "else", "include", "import", "from", "extends", "print"}
    | {f"end{keyword}" for keyword in BLOCKS}
)
"""Every tag of Jinja without extensions, as Prompt Poet uses it."""


class TagFact(NamedTuple):
    """A tag; `form` is its text between the delimiters, with placeholders such as `${1:name}`."""

    form: str
    documentation: str


TAGS: Final[Mapping[str, TagFact]] = MappingProxyType(
    {
        "if": TagFact("if ${1:condition}", "The text up to `endif`, if the condition is true."),
        "for": TagFact(
            "for ${1:item} in ${2:items}",
            "The text up to `endfor` once per element. `loop` describes the iteration.",
        ),
        "set": TagFact(
            "set ${1:name} = ${2:value}",
            "Assigns a value to a name. What a loop's body sets is lost after it: use `namespace`.",
        ),
        "include": TagFact(
            "include ${1:name}", "The rendered text of another template, which sees this one's variables."
        ),
        "macro": TagFact(
            "macro ${1:name}(${2:parameter})",
            "Returns the text up to `endmacro`. If imported, it sees data only `with context`.",
        ),
        "import": TagFact(
            "import ${1:name} as ${2:alias}", "The macros and variables of another template, under one name."
        ),
        "from": TagFact("from ${1:name} import ${2:macro}", "Some macros or variables of another template."),
        "raw": TagFact("raw", "The text up to `endraw` as it is, without Jinja."),
        "filter": TagFact("filter ${1:indent}", "The text up to `endfilter`, passed through a filter."),
        "with": TagFact("with ${1:name} = ${2:value}", "Variables that exist only up to `endwith`."),
        "call": TagFact(
            "call ${1:macro}()", "Calls a macro, which gets the text up to `endcall` by calling `caller()`."
        ),
        "block": TagFact("block ${1:name}", "A piece that templates which extend this one may replace."),
        "extends": TagFact("extends ${1:name}", "Takes another template, and replaces its blocks."),
        "elif": TagFact(
            "elif ${1:condition}", "The branch for where no condition above holds, but this one does."
        ),
        "else": TagFact("else", "The branch for where no condition holds, or a loop has no elements."),
        "autoescape": TagFact(
            "autoescape ${1:true}", "Whether values up to `endautoescape` are escaped as HTML."
        ),
        "print": TagFact("print ${1:value}", "The value as text, as `{{ … }}` gives it."),
    }
)
"""The tags by their keyword, the most common in prompts first."""


def end_documentation(keyword: str) -> str:
    """Return the documentation of the tag that closes a block."""
    return f"Closes the `{keyword}` block."
