"""Every request on extreme texts: none fails, and none takes long."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from in_process import InProcess
from session_clients import CLIENTS
from session_documents import position
from session_requests import POSITIONAL, WHOLE, Answers, params_of, requests_of
from test_extreme_texts import DEEP, ODD

from promptls.syntax.source import MAX_CHARACTERS

ITEM = "- name: a\n  content: "
LEVELS = 10_000
TEXTS = {
    **ODD,
    "10,000 parentheses": ITEM + "{{ " + "(" * LEVELS + ")" * LEVELS + " }}\n",
    "10,000 open brackets": ITEM + "{{ " + "[" * LEVELS,
    "10,000 blocks": "{% if x %}" * LEVELS,
    "10,000 YAML lists": "- " * LEVELS + "\n",
    "10,000 YAML mappings": "".join(" " * (depth % 500) + "a:\n" for depth in range(LEVELS)),
    "10,000 braces": ITEM + "{" * LEVELS + "\n",
    "a plain line that is too long": ITEM + "x " * (MAX_CHARACTERS // 2) + "\n",
    "lines of nothing": "\n" * 20_000,
}
if os.environ.get("PROMPTLS_LONG_TESTS"):
    TEXTS |= DEEP
    TEXTS |= {
        "a line of 5 MB without a space": ITEM + "é" * 2_500_000 + "\n",
        "a line of 5 MB in a tag": ITEM + "{{ " + "x" * 5_000_000,
    }
REFUSED = -32803
"""The answer to a rename that is not possible."""
SECONDS = 10.0
"""Far more than any request takes on an idle machine."""
METHODS = sorted((WHOLE | POSITIONAL) & set(requests_of(CLIENTS["rich, UTF-16"])))


@pytest.mark.parametrize("name", TEXTS)
async def test_every_request_about_an_extreme_text_is_answered(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    server = InProcess(tmp_path, CLIENTS["rich, UTF-16"])
    await server.begin()
    slow = {}

    started = time.process_time()
    uri = server.open("a.yml.j2", text)
    slow["didOpen"] = time.process_time() - started
    for method in METHODS:
        for place in (0, min(60, len(text)), len(text)):
            ends = [position(text, each, "utf-16") for each in (place, min(place + 9, len(text)))]
            params = params_of(method, uri, ends, Answers(), random.Random(0))
            started = time.process_time()
            answer = await server.answer(method, params)
            assert answer.get("error", {}).get("code") in {None, REFUSED}, str(answer)[:500]
            slow[method] = max(slow.get(method, 0), time.process_time() - started)
            if method in WHOLE:
                break
    end = position(text, len(text), "utf-16")
    started = time.process_time()
    server.change(uri, 2, {"range": {"start": end, "end": end}, "text": "x"})
    slow["didChange"] = time.process_time() - started

    assert {method: seconds for method, seconds in slow.items() if seconds > SECONDS} == {}
    await server.end()
