"""Documents of a town library, and a model that asks and answers questions about them."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.model_server import Reply

CARDS = """\
# Library cards

## Prices

A library card costs five euros a year. Children and pupils get their card for nothing. The Book Club pays
for the cards of its members, and nobody else has to ask for that at the Front Desk.

## Lost cards

Who loses a card tells the Front Desk at once. The Front Desk blocks the card, and a new library card costs
two euros. The old card never works again, even when it is found later in a coat.
"""
LENDING = """\
# Lending books

## How long

Books may be kept for four weeks, films for one week. The Front Desk makes the time longer when nobody else
waits for the book, and the Book Club may keep its books for three months.

## Too late

Late books cost ten cents a day. After six weeks the library card is blocked, and the Front Desk sends a
letter with the price of the book.
"""


def write_documents(folder: Path) -> Path:
    """Write the folder `docs` with two documents, which make four chunks."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "cards.md").write_text(CARDS, encoding="utf-8")
    (docs / "lending.md").write_text(LENDING, encoding="utf-8")
    return docs


def request_texts(body: dict[str, Any]) -> list[str]:
    """Return the texts that a request asks about."""
    content = str(body["messages"][-1]["content"])
    return re.findall(r"<text-(?:\d-)?[0-9a-f]{8}>\n(.*?)\n</text-", content, re.DOTALL)


def theme_of(body: dict[str, Any]) -> str:
    """Return the theme of a requested query."""
    found = re.search(r"^It is about: (.*)$", str(body["messages"][-1]["content"]), re.MULTILINE)
    return found[1] if found else ""


def good_reply(body: dict[str, Any]) -> Reply:
    """Return a new query about the theme, with the first sentence of the first text as its answer."""
    first = request_texts(body)[0]
    sentence = " ".join(line for line in first.splitlines() if line and line[0] != "#").split(". ")[0]
    # Numbers are not words, so that the query is about nothing but its theme.
    digest = sha256(json.dumps(body["messages"]).encode()).digest()
    one, other, last = (int.from_bytes(digest[begin : begin + 4], "big") for begin in (0, 4, 8))
    query = f"What is {theme_of(body)} to {one}, {other} and {last}?"
    return Reply(json.dumps({"query": query, "answer": f"{sentence}."}))
