"""A client's documents: their texts, and positions in them in any encoding."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from support.texts import OWN, example_texts, page_texts

Json = dict[str, Any]
_LINE_END = re.compile(r"\r\n|\n|\r")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
MAX_CHARACTERS = 5000
"""Texts of ordinary length; longer ones are cut."""
PRINTS_AN_ADDRESS = {"unread-iterator 1"}
"""Examples whose rendered text, and therefore token count, differs in each process."""
TEXTS = [
    *OWN.values(),
    *(text for name, text in page_texts().items() if name not in PRINTS_AN_ADDRESS),
    *example_texts().values(),
    (
        '{% import "macros.yml.j2" as m %}\n{% from "macros.yml.j2" import greet %}\n- name: a\n'
        "  role: user\n  content: |\n    {{ greet(user) }} {{ m.part }} {{ user.name }}\n"
        '{% include "sections/tail.yml.j2" %}\n'
    ),
    '- name: tail\n  content: {{ user }} {{ limit }}\n{% include "main.yml.j2" %}\n',
    "{% macro greet(name, mark='!') %}Hello {{ name }}{{ mark }}{% endmacro %}\n{% set part = 1 %}\n",
    "- hosts: all\n  tasks:\n    - name: x\n      shell: {{ cmd }}\n",
    "",
]
PIECES = [
    *("", "x", " ", "\n", "\n\n", "\r\n", "\r", "\t", "  ", "\x00"),
    *("é", "🎉", "\u2028", "\x85", "\x0c", "\ufeff", "\ud800"),
    *("{{", "}}", "{%", "%}", "{#", "#}", "{{-", "-}}", "{{ user }}", "{{ user.", "{{ user | ", "{{ x"),
    *("{% if x %}", "{% endif %}", "{% else %}", "{% for i in items %}", "{% endfor %}", "{% set a = 1 %}"),
    *("{% raw %}", "{% endraw %}", "{% macro m(a) %}", "{% endmacro %}"),
    "{# promptls: ignore[unknown-role] #}",
    *("- ", "\n- name: y\n  content: z\n", "\n- name: {{ x }}\n", "role: sytem", "  role: user\n", ":"),
    *("'", '"', "[", "]", "{", "}", "(", ")", "|", "&a", "*a", "---", "...", "!", "%", "\\"),
    *('{% include "sections/tail.yml.j2" %}\n', '{% include "macros.yml.j2" %}', '{% extends "x.yml.j2" %}'),
    *("{#---\ninput_keys: [user]\n---#}\n", "---#}", "{#---\n", "instruction: hi\n"),
    "examples:\n  - user: x\n",
]  # fmt: skip


@dataclass
class Document:
    """The client's version of a text."""

    text: str
    version: int = 1


def line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def position(text: str, offset: int, encoding: str) -> Json:
    """Return the position of an offset."""
    starts = line_starts(text)
    line = bisect_right(starts, offset) - 1
    codec, width = _CODECS[encoding]
    before = text[starts[line] : offset].encode(codec, "surrogatepass")
    return {"line": line, "character": len(before) // width}


def random_offset(dice: random.Random, text: str) -> int:
    """Return an offset where a client can put its cursor: not within a line end."""
    offset = dice.randrange(len(text) + 1)
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def random_position(dice: random.Random, text: str, encoding: str) -> Json:
    """Return a position in the text, or occasionally one past the end of its line or of the text."""
    place = position(text, random_offset(dice, text), encoding)
    if dice.random() < 0.05:
        place["character"] += dice.choice([1, 1000, 2**31 - 1])
    if dice.random() < 0.03:
        place["line"] += dice.choice([1, 1000, 2**31 - 1])
    return place


LIKE = (re.compile(r"\w+"), re.compile(r"\w+(?=[^{}\n]*[%}]\})"), re.compile(r"[^\r\n]+"))
"""Words, words in tags, and lines that can replace each other."""


def random_edit(dice: random.Random, document: Document, encoding: str) -> Json:
    """Apply a random change to the document; return it as the protocol represents it."""
    text = document.text
    if dice.random() < 0.02 or len(text) > MAX_CHARACTERS:
        document.text = dice.choice(TEXTS)
        return {"text": document.text}
    if dice.random() < 0.25 and (like := list(dice.choice(LIKE).finditer(text))):
        # A word or a line that stands elsewhere already, so that what is wrong with it is so twice.
        start, end = dice.choice(like).span()
        new = dice.choice(like)[0]
    else:
        start = random_offset(dice, text)
        end = min(len(text), start + dice.choice([0, 0, 0, 1, 1, 3, 20, 200]))
        if text[end - 1 : end + 1] == "\r\n":
            end += 1
        new = "".join(dice.choice(PIECES) for _ in range(dice.choice([0, 1, 1, 1, 2])))
    place = {"start": position(text, start, encoding), "end": position(text, end, encoding)}
    if end == len(text) and dice.random() < 0.3:
        place["end"] = {"line": place["end"]["line"] + dice.choice([1, 99]), "character": 7}
    elif end < len(text) and text[end] in "\r\n" and dice.random() < 0.2:
        place["end"]["character"] += 50
    document.text = text[:start] + new + text[end:]
    return {"range": place, "text": new}
