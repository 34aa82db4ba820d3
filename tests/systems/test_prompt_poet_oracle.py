"""Every recorded case of the real Prompt Poet gives the same result here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptls.systems.prompt_poet.cleanup import Markers
from promptls.systems.prompt_poet.counts import PartCount, count_parts
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart, joined, messages
from promptls.systems.prompt_poet.render import RenderOptions, render, render_text
from promptls.systems.prompt_poet.truncation import truncate, truncation_blocks
from promptls.tokens.counting import count_strictly
from support.prompt_poet_cases import STAGES, mock, plain, recorded_cases

OPTIONS = {"token_limit", "truncation_step", "encode", "space_marker", "ctor_token_limit"}


def _part(part: PromptPart) -> dict[str, Any]:
    return {
        "name": part.name,
        "content": plain(part.content),
        "role": part.role,
        "truncation_priority": part.truncation_priority,
        "expected_template_data_keys": part.expected_template_data_keys,
        "sections": None
        if part.sections is None
        else [
            {
                "name": section.name,
                "content": section.content,
                "truncation_priority": section.truncation_priority,
                "token_count": None if section.tokens is None else len(section.tokens),
            }
            for section in part.sections
        ],
    }


def _section_counts(parts: tuple[PromptPart, ...], counts: tuple[PartCount, ...]) -> dict[str, Any]:
    return {
        part.name: dict(zip([section.name for section in part.sections], count.sections, strict=True))
        if part.sections
        else {"_part_total": count.tokens}
        for part, count in zip(parts, counts, strict=True)
        if count.tokens
    }


def _counter(name: str) -> Callable[[str], int]:
    simple: dict[str, Callable[[str], int]] = {"words": lambda text: len(text.split()), "chars": len}
    return simple.get(name, lambda text: count_strictly(text, name))


@pytest.mark.oracle
@pytest.mark.parametrize("sandboxed", [True, False], ids=["sandboxed", "plain"])
@pytest.mark.parametrize("path", recorded_cases())
def test_the_result_is_prompt_poets(path: Path, sandboxed: bool) -> None:
    case = json.loads(path.with_name(path.name.replace(".yml.j2", ".data.json")).read_text())
    expected = json.loads(path.with_name(path.name.replace(".yml.j2", ".expected.json")).read_text())
    assert set(case["options"]) <= OPTIONS, "an option that this test does not know"
    data = {**case["data"], **{name: mock(behaviour) for name, behaviour in case["mocks"].items()}}
    markers = Markers(space=case["options"].get("space_marker", Markers().space))
    options = RenderOptions(
        token_limit=case["options"].get("ctor_token_limit", -1), markers=markers, sandboxed=sandboxed
    )
    if not expected["ok"]:
        _check_failure(path, data, options, expected)
        return
    prompt = render(str(path), data, options=options)
    assert prompt.text == expected["rendered"]
    assert plain(messages(prompt.parts)) == expected["messages"]
    if isinstance(expected["string"], str):
        assert joined(prompt.parts) == expected["string"]
    else:
        with pytest.raises(PromptPoetError):
            joined(prompt.parts)
    assert [_part(part) for part in prompt.parts] == expected["parts"]
    count = _counter(expected["encode"])
    if "tokenize_error" in expected:
        with pytest.raises(PromptPoetError) as caught:
            count_parts(prompt.parts, count)
        assert caught.value.kind == "tokens"
        return
    counts = count_parts(prompt.parts, count)
    assert _section_counts(prompt.parts, counts) == expected["section_token_counts"]
    assert [each.tokens for each in counts] == expected["token_counts"]
    if "truncation" in expected:
        _check_truncation(prompt.parts, counts, expected["truncation"])


def _check_failure(
    path: Path, data: dict[str, Any], options: RenderOptions, expected: dict[str, Any]
) -> None:
    with pytest.raises(PromptPoetError) as caught:
        render(str(path), data, options=options)
    failure, error = caught.value, expected["error"]
    assert failure.kind == STAGES[expected["stage"]]
    assert failure.cause == error["type"]
    if "template_line" in error:
        assert failure.line == error["template_line"] - 1
        assert failure.path is not None
        assert Path(failure.path).name == error["template_file"]
    if "line" in error:
        assert (failure.rendered_line, failure.rendered_column) == (error["line"], error["column"])
    if expected["rendered"] is not None:
        assert render_text(str(path), data, options=options).text == expected["rendered"]


def _check_truncation(
    parts: tuple[PromptPart, ...], counts: tuple[PartCount, ...], expected: dict[str, Any]
) -> None:
    priorities = [part.truncation_priority for part in parts]
    tokens = [each.tokens for each in counts]
    if "blocks" in expected:
        blocks = truncation_blocks(priorities, tokens)
        assert [
            {"left": block.left, "right": block.right, "priority": block.priority, "tokens": block.tokens}
            for block in blocks
        ] == expected["blocks"]
    limit, step = expected["token_limit"], expected["truncation_step"]
    limit = -1 if limit is None else limit
    if not expected["ok"]:
        with pytest.raises(PromptPoetError) as caught:
            truncate(priorities, tokens, limit, step)
        assert caught.value.kind == "truncation"
        assert caught.value.cause == expected["error"]["type"]
        return
    result = truncate(priorities, tokens, limit, step)
    assert list(result.kept) == expected["kept"]
    assert list(result.removed) == expected["removed"]
    assert result.tokens_after == expected["tokens_after"]
    assert joined([parts[index] for index in result.kept]) == expected["string_after"]
