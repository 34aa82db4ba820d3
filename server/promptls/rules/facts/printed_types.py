"""Values of parts that Jinja prints and YAML then reads as something of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from promptls.meaning.contents import chunk_contents
from promptls.meaning.parts import chunk_items
from promptls.rules.facts.printed_values import BoundValues, Printed, place_of_value, printed_values
from promptls.rules.rule import Edit, FileContext, Finding, Fix
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Scalar, key_text

_NUMBERS: Final = frozenset({"int", "float", "bool"})
WORDS: Final = {"int": "a number", "float": "a number", "bool": "a truth value", "timestamp": "a date"}
"""What YAML reads that is no text, in words."""
_PRIORITY: Final = "truncation_priority"
_MEANT: Final = {_PRIORITY: "a number", "sections": "a list", "expected_template_data_keys": "a list"}
BOUND_PRIORITIES: Final = BoundValues(_PRIORITY)
"""The texts that variables under `truncation_priority` get."""


def printed_values_of_keys(chunk: Chunk) -> Iterator[Finding]:
    """The priorities and lists with Jinja in them that are, or can be, none."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value, key = entry.value, key_text(entry)
            if not isinstance(value, Scalar) or key not in _MEANT:
                continue
            if value.dynamic and value.style and chunk.text[value.span.start] != "!":
                what = "a block" if value.style in {"|", ">"} else "what is quoted"
                message = f"{what} is text for YAML, and `{key}` is {_MEANT[key]}"
                yield Finding(value.span, message, tuple(_bare(chunk, value)))
            if key != _PRIORITY or value.style:
                continue
            for printed in printed_values(chunk, entry.key.span, value):
                if printed.condition:
                    message = (
                        f"where `{printed.condition}` is false, this is null, and truncation fails on null"
                    )
                    yield Finding(printed.span, message, severity="warning")
                elif value.dynamic and _tag(printed.text) not in _NUMBERS and not printed.span.is_empty():
                    yield Finding(printed.span, _message(printed))


def bound_priorities(context: FileContext) -> Iterator[Finding]:
    """The values of variables that are priorities and no numbers."""
    for name, printed in BOUND_PRIORITIES.values(context):
        if printed.text and _tag(printed.text) not in _NUMBERS:
            yield Finding(printed.span, f"`{name}` is a priority: {_message(printed)}")


def printed_contents(chunk: Chunk) -> Iterator[Finding]:
    """The contents that Jinja prints bare and that YAML reads, or can read, as something else than text."""
    for content in chunk_contents(chunk):
        value = content.value
        if value.style:
            continue
        whole = place_of_value(chunk, content.key, value)
        text = chunk.text[whole.start : whole.end]
        quote = next((each for each in "\"'" if each not in text), None)
        fixes = (Fix("Quote it", (Edit(whole, f"{quote}{text}{quote}"),), preferred=True),) if quote else ()
        for printed in printed_values(chunk, content.key, value):
            if printed.condition:
                message = f"where `{printed.condition}` is false, this content is null, and joining the prompt fails"
                yield Finding(printed.span, message, fixes, severity="warning")
            elif value.dynamic and (word := WORDS.get(_tag(printed.text))) and not printed.span.is_empty():
                message = f"printed bare, YAML reads this content as {word}; quote it to send it as text"
                yield Finding(printed.span, message, fixes)


def _message(printed: Printed) -> str:
    what = "null" if _tag(printed.text) == "null" else "text"
    return f"`truncation_priority` is a number; truncation fails on {what}"


def _bare(chunk: Chunk, value: Scalar) -> Iterator[Fix]:
    """A tag that is quoted, without its quotes."""
    text = chunk.text[value.span.start : value.span.end]
    tags = [tag for tag in chunk.tags if value.span.start <= tag.span.start < value.span.end]
    is_single = len(tags) == 1 and tags[0].kind == "output"
    if value.style in {"'", '"'} and is_single and text[1:-1].strip() == tags[0].text:
        yield Fix("Remove the quotes", (Edit(value.span, tags[0].text),), preferred=True)


@lru_cache(maxsize=256)
def _tag(text: str) -> str:
    """How YAML reads a plain scalar: `str`, `int`, `bool` and so on."""
    from yaml.nodes import ScalarNode
    from yaml.resolver import Resolver

    resolved: str = Resolver().resolve(ScalarNode, text.strip(), (True, False))  # type: ignore[no-untyped-call]  # PyYAML has no annotations for it
    return resolved.rpartition(":")[2]
