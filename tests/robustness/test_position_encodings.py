"""Every feature returns the same places to clients that count in UTF-8, in UTF-16 and in code points."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from in_process import InProcess
from session_clients import CLIENTS
from session_documents import line_starts, position
from session_requests import POSITIONAL, WHOLE, Answers, params_of, requests_of

FILES = {
    "main.yml.j2": """\
{#---
name: "🎉 Grüße"
input_keys: {user: {type: string, description: 🎉}, unused: null}
examples:
  - {user: "🎉é", answer: x}
---#}
{% import "mäcros🎉.yml.j2" as 🎉m %}{% import "macros.yml.j2" as m %}
{% set größe = "🎉" %}{% macro grüße(ä, b="🎉") %}🎉{{ ä }}{{ b }}{% endmacro %}
- name: "🎉 {{ größe }} part"
  role: "🎉sytem" # 🎉
  content: |
    🎉🎉 {{ user | upper }} é {{ grüße("🎉", b=größe) }} 🎉 {{ unknown }} {{ m.greet(user) }}
    🎉 {% if user %}🎉 {{ user.name }}{% endif %} 🎉{% for ü in user %}{{ ü }}{% endfor %}{{ 🎉 | }}
{% include "macros.yml.j2" %}🎉
- {name: "🎉 {{ größe }} part", content: "🎉", rolle: 🎉}
""",
    "macros.yml.j2": "{# 🎉 #}{% macro greet(name) %}🎉{{ name }}{% endmacro %}\n- name: 🎉\n  rolle: 🎉é\n",
    "plain.yml.j2": "- name: 🎉 {{user}}\n  content: 🎉é {{user|upper}} 🎉 {%if user%}🎉{%endif%}\n",
    "object.yml.j2": "instruction: 🎉 é\nex🎉: é\noutput_key: 🎉\nexamples:\n  - {a: 🎉, b: é}\n",
}
_ELSEWHERE = {"textDocument/codeLens", "textDocument/inlayHint", "textDocument/onTypeFormatting"}
"""Their results have no positions beyond the first line, or depend on a rendering or a key."""
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
METHODS = sorted((WHOLE | POSITIONAL) & set(requests_of(CLIENTS["rich, UTF-8"])) - _ELSEWHERE)


class Places:
    """Converts every position in an answer to an offset, which does not depend on the encoding."""

    def __init__(self, root: Path, encoding: str) -> None:
        self.texts = {(root / name).as_uri(): text for name, text in FILES.items()}
        self.codec, self.width = _CODECS[encoding]

    def offset(self, uri: str, line: int, character: int) -> int:
        text = self.texts[uri]
        starts = [*line_starts(text), len(text)]
        inside = text[starts[line] : starts[line + 1]].encode(self.codec)
        assert character * self.width <= len(inside), "the place lies after the end of its line"
        return starts[line] + len(inside[: character * self.width].decode(self.codec))

    def plain(self, value: Any, uri: str) -> Any:
        if isinstance(value, list):
            return [self.plain(each, uri) for each in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"line", "character"}:
            return self.offset(uri, value["line"], value["character"])
        for end in ("start", "end"):
            if f"{end}Character" in value:  # of a folding range
                line, character = value[f"{end}Line"], value[f"{end}Character"]
                value = {**value, f"{end}Character": self.offset(uri, line, character)}
        uri = value.get("targetUri") or value.get("uri") or value.get("textDocument", {}).get("uri") or uri
        if isinstance(value.get("data"), list):
            return self.tokens(value["data"], uri)
        return {key: self.plain(its, key if key in self.texts else uri) for key, its in value.items()}

    def tokens(self, data: list[int], uri: str) -> list[tuple[int, ...]]:
        found = []
        line = character = 0
        for delta_line, delta, length, kind, modifiers in zip(*[iter(data)] * 5, strict=True):
            line, character = line + delta_line, (0 if delta_line else character) + delta
            start, end = (self.offset(uri, line, column) for column in (character, character + length))
            found.append((start, end, kind, modifiers))
        return found


async def answers(root: Path, encoding: str) -> dict[str, list[Any]]:
    """Return the answers to every method at many positions of every file, with offsets for positions."""
    server = InProcess(root, CLIENTS[f"rich, {encoding.upper()}"])
    await server.begin()
    for name, text in FILES.items():
        server.open(name, text)
    places = Places(root, encoding)
    found: dict[str, list[Any]] = {method: [] for method in METHODS}
    for method in METHODS:
        for name, text in FILES.items():
            uri = (root / name).as_uri()
            points = range(0, len(text) - 3, 11)
            spans = [(0, len(text))] if method in WHOLE else [(start, start + 3) for start in points]
            for span in spans:
                ends = [position(text, each, encoding) for each in span]
                try:
                    answer = await server.ask(
                        method, params_of(method, uri, ends, Answers(), random.Random(0))
                    )
                except AssertionError:  # some places cannot be renamed
                    answer = "refused"
                found[method].append(_without_ids(places.plain(answer, uri)))
    await server.end()
    return found


async def test_a_place_is_the_same_in_every_encoding(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")

    in_code_points = await answers(tmp_path, "utf-32")

    assert [method for method, found in in_code_points.items() if not any(found)] == []
    for encoding in ("utf-8", "utf-16"):
        others = await answers(tmp_path, encoding)
        assert {
            method: others[method] for method in METHODS if others[method] != in_code_points[method]
        } == {}


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ids(its) for key, its in value.items() if key != "resultId"}
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    return value
