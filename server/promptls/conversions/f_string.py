"""A text with `{name}` fields, as `str.format` and LangChain fill them in: one message."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from string import Formatter
from typing import Final

from promptls.conversions.conversation import Conversation, Message, Piece
from promptls.text.failure import Failure

_FIELD: Final = re.compile(r"(?P<name>[\w \-]*)(?P<path>(?:\.[^\W\d]\w*|\[[^\[\]{}]+\])*)")
_STEP: Final = re.compile(r"\.(?P<attribute>\w+)|\[(?P<item>[^\]]+)\]")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_JINJA_WORDS: Final = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "loop"}
)
RESERVED: Final = frozenset({"token_limit", "escape_special_characters"})


def read_f_string(text: str, *, role: str = "user") -> Conversation:
    """The text as one message of `role`; raises Failure where its braces are no fields."""
    renamed: dict[str, str] = {}
    # The line end of a file's last line is the file's, and not the message's.
    pieces = tuple(field_pieces(text.removesuffix("\n").removesuffix("\r"), renamed))
    lost = tuple(
        f"the field `{{{name}}}` is called `{new}` now, because Jinja takes no such name"
        for name, new in renamed.items()
        if name != new
    )
    inputs: dict[str, dict[str, str]] = {new: {} for new in renamed.values()}
    header = {"input_keys": inputs} if inputs else {}
    return Conversation((Message(role, pieces),), header, lost)


def field_pieces(text: str, renamed: dict[str, str]) -> Iterator[Piece]:
    """The pieces of a text with fields; `renamed` is filled with the name in Jinja of each field's name."""
    count = 0
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise Failure(
            f"the braces of the text are no fields: {error}",
            remedy="write a brace that is meant as text twice",
        ) from error
    for literal, field, form, conversion in parsed:
        if literal:
            yield Piece("text", literal)
        if field is None:
            continue
        name = field
        if not name or name[0] in ".[":
            name, count = f"{count}{name}", count + 1
        if form and "{" in form:
            raise Failure(f"the field `{{{name}:{form}}}` has a field in its format", remedy="write it out")
        yield Piece("input", _expression(name, form or "", conversion or "", renamed))


def _expression(field: str, form: str, conversion: str, renamed: dict[str, str]) -> str:
    """The Jinja expression that gives what `str.format` gives for a field."""
    match = _FIELD.fullmatch(field)
    if match is None:
        raise Failure(
            f"`{{{field}}}` is no name of an input",
            remedy="write a brace that is meant as text twice, and take expressions out of the text",
        )
    name = renamed.setdefault(match["name"], _jinja_name(match["name"], set(renamed.values())))
    steps = []
    for step in _STEP.finditer(match["path"]):
        item = step["item"]
        steps.append(
            f".{step['attribute']}" if item is None else f"[{item if item.isdigit() else json.dumps(item)}]"
        )
    value = name + "".join(steps)
    if form or conversion:
        written = "{" + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "") + "}"
        return f"{json.dumps(written, ensure_ascii=False)}.format({value})"
    return f"{value} | string"


def _jinja_name(name: str, taken: set[str]) -> str:
    """The name itself where Jinja can read it, else one that it can."""
    if _NAME.fullmatch(name) and name not in {*_JINJA_WORDS, *RESERVED}:
        return name
    made = re.sub(r"\W", "_", name)
    if not made or made[0].isdigit():
        made = f"input_{made}" if made else "input"
    if keyword.iskeyword(made) or made in {*_JINJA_WORDS, *RESERVED}:
        made = f"{made}_value"
    while made in taken:
        made += "_"
    return made
