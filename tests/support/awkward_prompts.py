"""Templates with data, made from a seed: rare constructs, and odd values in YAML 1.1.

`generated_prompts` makes common templates with common mistakes. These cases combine rare constructs:
directives, tags, anchors, markers, blocks and scopes.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import DictLoader, Environment

from support.generated_prompts import Case

PIECES: dict[str, Any] = json.loads(Path(__file__).with_name("awkward_pieces.json").read_text("utf-8"))
"""The pieces of awkward prompts: scalars of YAML 1.1, expressions, statements, and whole documents."""


class AwkwardGenerator:
    """Makes cases; the same seed makes the same case. Three of four contain little that fails by itself."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_calm = seed % 4 > 0

    def case(self) -> Case:
        """Return the next case."""
        pick = self.random
        text = self.pick("whole") if self.chance(0.12) else self.document()
        if self.chance(0.06):
            text = text.replace("\n", pick.choice(["\r\n", "\r", "\x85", "\n\n"]))
        if self.chance(0.03):
            text = "\ufeff" + text
        limits = [None, None, -1, 0, -2, 1, 2, 3, 5, 8, 13, 40]
        return Case(
            {**PIECES["files"], "main.yml.j2": text},
            self.data(),
            pick.choice([-1, -1, 0, -7, 1, 4, 9, 25, 10**30]),
            [(pick.choice(limits), pick.choice([None, -3, 0, 1, 1, 2, 7, 100])) for _ in range(4)],
            self.chance(0.15),
            pick.choice(PIECES["markers"]) if self.chance(0.15) else None,
        )

    def pick(self, kind: str) -> str:
        """Return one of the pieces of a kind."""
        chosen: str = self.random.choice(sound(kind) if self.is_calm else PIECES[kind])
        return chosen

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def data(self) -> dict[str, Any]:
        pick = self.random
        given = PIECES["mild"] if self.is_calm and self.chance(0.7) else PIECES["values"]
        return {
            "a": pick.choice(given),
            "b": pick.choice(given),
            "s": pick.choice([each for each in given if isinstance(each, str)]),
            "n": pick.choice([0, 1, 3, -1, 2.5, True, 10**40, float("nan"), float("inf"), -0.0]),
            "xs": [pick.choice(given) for _ in range(pick.randrange(4))],
            "d": {"items": [1], "k": pick.choice(given), "a b": 1, "": 2, "get": None, "_x": 3},
            "deep": {"a": {"b": {"c": [{"d": pick.choice(given)}]}}},
        }

    def document(self) -> str:
        pick = self.random
        pieces = [self.pick("beginnings")] if self.chance(0.25) else []
        for _ in range(pick.randrange(1, 6)):
            if self.chance(0.15):
                pieces.append(self.pick("statements"))
            pieces.append(self.pick("items") if self.chance(0.15) else self.part())
        if self.chance(0.15):
            pieces.append(self.pick("endings"))
        return "".join(pieces)

    def part(self) -> str:
        pick = self.random
        rows = [f"name: {self.value(0.2)}"]
        if self.chance(0.12):
            rows += self.sections()
        else:
            rows += self.content()
        if self.chance(0.4):
            rows.append(f"role: {self.value(0.5)}")
        if self.chance(0.5):
            rows.append(f"truncation_priority: {self.pick('priorities')}")
        if self.chance(0.12):
            rows.append(f"expected_template_data_keys: {self.pick('keys')}")
        if self.chance(0.04):
            rows.append(f"tokens: {pick.choice(PIECES['presets'])}")
        if self.chance(0.05):
            more = ["role: two", "content: z"] if self.is_calm else []
            odd = ["<<: *base", "role: two", "tokens:", "content: z", "&k x: y", "? [a]"]
            rows.append(pick.choice(more or odd))
        return "- " + "\n  ".join(rows) + "\n"

    def sections(self) -> list[str]:
        rows = ["sections:"]
        for index in range(self.random.randrange(1, 4)):
            rows.append(f"  - name: {self.value(0.1) if self.chance(0.3) else index}")
            rows += ["    " + row for row in self.content()]
            if self.chance(0.1):
                rows.append(f"    tokens: {self.random.choice(PIECES['presets'])}")
        return rows

    def content(self) -> list[str]:
        pick = self.random
        if self.chance(0.35):
            return [f"content: {self.value(0.9)}"]
        lines = [
            " ".join(
                self.pick("expressions") if self.chance(0.5) else pick.choice(["word", "two words", "-", "#"])
                for _ in range(pick.randrange(1, 4))
            )
            for _ in range(pick.randrange(1, 4))
        ]
        if self.chance(0.25):
            lines.insert(pick.randrange(len(lines) + 1), self.pick("statements").rstrip("\n"))
        styles = ["|", "|", "|", ">", "|-", "|+", ">+", ">-", "|1", ">2", "|2-", "|+1", "|0", "|12"]
        style = pick.choice(styles)
        if self.chance(0.2):
            quote = pick.choice("'\"")
            return [f"content: {quote}{'  '.join(lines)}{quote}"]
        return [f"content: {style}", *("  " + line for line in lines)]

    def value(self, awkward: float) -> str:
        """Return a scalar, or something similar."""
        if not self.chance(awkward):
            return self.random.choice(["plain", "user", "system", "p {{ n }}", "'{{ s }}'"])
        if self.chance(0.3):
            return self.pick("expressions")
        return self.pick("scalars")


USUAL: dict[str, Any] = {
    "a": "a",
    "b": 1,
    "s": "word",
    "n": 2,
    "xs": ["x", "y"],
    "d": {"items": [1], "k": "v", "get": None},
    "deep": {"a": {"b": {"c": [{"d": "e"}]}}},
    "token_limit": -1,
    "escape_special_characters": lambda string: string.replace("\n", ""),
}

PART = {"name", "content", "role", "truncation_priority", "sections"}


@cache
def sound(kind: str) -> list[str]:
    """Return those pieces of a kind that render alone, with usual data, to valid YAML."""
    environment = Environment(loader=DictLoader(PIECES["files"]))
    found = []
    for piece in PIECES[kind]:
        try:
            text = environment.from_string(piece).render(USUAL)
            loaded = yaml.load(text if piece.endswith("\n") else f"x: {text}", Loader=yaml.CSafeLoader)
        except Exception:  # noqa: BLE001 - whatever it is, the piece is not sound
            continue
        if not isinstance(loaded, list) or all(
            isinstance(item, dict) and set(item) <= PART for item in loaded
        ):
            found.append(piece)
    return found
