"""Generated prompts have the same result in the real Prompt Poet, which runs in its own environment."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.prompt_poet_environment import peer_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import (
    NO_LIMIT,
    PromptPart,
    count_parts,
    join_contents,
    messages,
    truncate,
)
from promptls.dialects.prompt_poet.template_rendering import RenderOptions, parse_parts, render_text
from promptls.dialects.prompt_poet.vocabulary import Markers
from promptls.rendering.source_map.compiled_templates import render_mapped
from support import prompt_poet_runner as real
from support.awkward_prompts import AwkwardGenerator
from support.example_counts import THOROUGH
from support.generated_prompts import Case, Generator

pytestmark = pytest.mark.thorough

SEEDS = range(200 if THOROUGH else 40)
CASES = [Generator(seed).case() for seed in SEEDS]
AWKWARD = [AwkwardGenerator(seed).case() for seed in SEEDS]
_ADDRESS = re.compile("0x[0-9a-f]{6,}", re.IGNORECASE)
"""The memory address in the text of a method."""

FIELDS = {"space_marker": "space"}
"""The names that `Markers` uses for arguments of `Prompt`, where they differ."""


@pytest.fixture(scope="module")
def theirs() -> dict[int, dict[str, Any]]:
    interpreter = peer_environment()
    if interpreter is None:
        pytest.skip("Prompt Poet cannot be installed")
    cases = [case._asdict() for case in (*CASES, *AWKWARD)]
    done = subprocess.run(
        [str(interpreter), str(Path(real.__file__))],
        input=json.dumps(cases).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(enumerate(json.loads(_ADDRESS.sub("0x", done.stdout.decode()))))


@pytest.mark.parametrize("number", range(len(CASES) + len(AWKWARD)))
def test_the_result_is_that_of_the_real_library(
    number: int, theirs: dict[int, dict[str, Any]], tmp_path: Path
) -> None:
    case = (*CASES, *AWKWARD)[number]
    for name, text in case.files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    ours = _result(case, str(tmp_path / "main.yml.j2"))
    if "error" in ours:
        assert ours.pop("message").endswith((".", "?"))
    ours = json.loads(_ADDRESS.sub("0x", json.dumps(ours)))
    expected = theirs[number]
    expected.pop("message", None)
    assert ours == expected


def _result(case: Case, path: str) -> dict[str, Any]:
    markers = {FIELDS.get(name, name): value for name, value in (case.markers or {}).items()}
    options = RenderOptions(
        case.token_limit, allow_token_overrides=case.allow_token_overrides, markers=Markers(**markers)
    )
    rendered = None
    try:
        made = render_text(path, case.data, options=options)
        rendered = made.text
        mapped, source_map = render_mapped(path, case.data, options=options)
        assert _ADDRESS.sub("0x", mapped.text) == _ADDRESS.sub("0x", rendered)
        assert "".join(mapped.text[each.start : each.end] for each in source_map.segments) == mapped.text
        parts = parse_parts(rendered, made.data, options)
    except PromptPoetError as error:
        return {"error": error.cause, "rendered": rendered, "message": error.message}
    counted = _attempt(
        lambda: [
            each.tokens
            for each in count_parts(
                parts, lambda text: len(text.split()), allow_token_overrides=case.allow_token_overrides
            )
        ]
    )
    return {
        "rendered": rendered,
        "messages": real.plain(messages(parts)),
        "names": real.plain([part.name for part in parts]),
        "sections": [
            [[real.plain(section.name), section.content] for section in part.sections or ()] for part in parts
        ],
        "string": _attempt(lambda: join_contents(parts)),
        "tokens": counted,
        "truncated": [] if isinstance(counted, dict) else _truncated(case, parts, counted),
    }


def _truncated(case: Case, parts: tuple[PromptPart, ...], tokens: list[int]) -> list[Any]:
    """Return what remains after each truncation; without a limit, Prompt Poet keeps the previous result."""
    priorities = [part.truncation_priority for part in parts]
    presets = [part.tokens for part in parts]
    everything = left = real.plain([part.name for part in parts])
    found = []
    for given, step in case.truncations:
        limit = case.token_limit if given is None else given
        if limit == NO_LIMIT:
            found.append(left)
            continue
        kept = _attempt(
            lambda limit=limit, step=step: truncate(priorities, tokens, limit, step, presets).kept
        )
        if not isinstance(kept, dict):
            left = [everything[index] for index in kept]
        elif kept["error"] == "TruncationError":
            left = everything
        found.append(kept if isinstance(kept, dict) else left)
    return found


def _attempt(ask: Any) -> Any:
    try:
        return ask()
    except PromptPoetError as error:
        return {"error": error.cause}
