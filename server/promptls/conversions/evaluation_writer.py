"""A data set of an OpenCompass configuration written as an evaluation prompt, a `.yml.j2` file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.conversions.conversation import Converted
from promptls.conversions.flow_yaml import flow

_LONG: Final = 90
"""Characters of a mapping or a list that still stands on its key's line."""
_ORDER: Final = ("infer_cfg", "eval_cfg", "path", "name", "reader_cfg", "abbr")
"""Keys of the top level; the texts come first, and the file ends with what is no text of many lines."""
_JINJA: Final = ("{{", "{%", "{#")


def evaluation_prompt(dataset: Mapping[str, Any], lost: tuple[str, ...]) -> Converted:
    """The data set as an evaluation prompt; `lost` is what could not be carried over."""
    keys = [key for key in _ORDER if key in dataset]
    lines = [line for key in keys for line in _entry(key, dataset[key], "")]
    return Converted("\n".join(lines) + "\n", lost)


def _entry(key: Any, value: Any, indent: str) -> Iterator[str]:
    """A key with its value, at an indentation."""
    name = flow(key)
    block = _block(value, indent)
    if block is not None:
        yield f"{indent}{name}: {block}"
        return
    short = f"{indent}{name}: {_flow(value)}"
    if not _is_nested(value) or (len(short) <= _LONG and _is_flat(value)):
        yield short
        return
    yield f"{indent}{name}:"
    yield from _nested(value, indent + "  ")


def _nested(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, its in value.items():
            yield from _entry(key, its, indent)
        return
    for item in value:
        short = f"{indent}- {_flow(item)}"
        block = _block(item, indent)
        if block is not None:
            yield f"{indent}- {block}"
        elif not _is_nested(item) or (len(short) <= _LONG and _is_flat(item)):
            yield short
        else:
            first, *rest = _nested(item, indent + "  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest


def _flow(value: Any) -> str:
    """The value on one line, with keys that are no text as they are."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return flow(value)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _is_flat(value: Any) -> bool:
    """Whether the value holds no text that would read better on lines of its own."""
    if isinstance(value, dict):
        return all(map(_is_flat, value.values()))
    if isinstance(value, list):
        return all(map(_is_flat, value))
    return not isinstance(value, str) or "\n" not in value


def _block(value: Any, indent: str) -> str | None:
    """A text of many lines as a block of lines; None for others, and where a block would change it."""
    if not isinstance(value, str) or "\n" not in value.strip("\n") or any(mark in value for mark in _JINJA):
        return None
    lines = value.split("\n")
    if not all(line.isprintable() for line in lines) or lines[0][:1] in {"", " "}:
        return None
    body = value.rstrip("\n")
    ending = len(value) - len(body)
    style = {0: "|-", 1: "|"}.get(ending, "|+")
    inner = indent + "  "
    shown = "\n".join(f"{inner}{line}" if line else "" for line in body.split("\n"))
    return f"{style}\n{shown}" + "\n" * max(0, ending - 1)
