"""Every recorded case of the real Prompt Poet gives the same result here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oracle import recorded
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import (
    PartCount,
    PromptPart,
    count_parts,
    join_contents,
    messages,
    truncate,
    truncation_blocks,
)
from promptls.dialects.prompt_poet.template_rendering import RenderOptions, render, render_text
from promptls.dialects.prompt_poet.vocabulary import Markers
from promptls.tokens import count_strictly
from support.prompt_poet_cases import data_of, plain, written

OPTIONS = {"token_limit", "truncation_step", "encode", "space_marker"}


def _part(part: PromptPart) -> dict[str, Any]:
    sections = [
        {
            "name": section.name,
            "content": section.content,
            "truncation_priority": section.truncation_priority,
            "token_count": None if section.tokens is None else len(section.tokens),
        }
        for section in part.sections or ()
    ]
    return {
        "name": part.name,
        "role": part.role,
        "content": plain(part.content),
        **({"truncation_priority": part.truncation_priority} if part.truncation_priority != 0 else {}),
        **_given({"expected_template_data_keys": part.expected_template_data_keys}),
        **({"sections": [_given(section) for section in sections]} if sections else {}),
    }


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


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


@pytest.mark.parametrize("sandboxed", [True, False], ids=["sandboxed", "plain"])
@pytest.mark.parametrize("case", recorded.parameters("prompt_poet"))
def test_the_result_is_prompt_poets(case: dict[str, Any], sandboxed: bool, tmp_path: Path) -> None:
    given, expected = case.get("options", {}), case["expected"]
    assert set(given) <= OPTIONS, "an option that this test does not know"
    path, data = written(case, tmp_path), data_of(case)
    markers = Markers(space=given.get("space_marker", Markers().space))
    options = RenderOptions(markers=markers, sandboxed=sandboxed)
    if "error" in expected:
        _check_failure(path, data, options, expected)
        return
    prompt = render(str(path), data, options=options)
    assert prompt.text == expected["rendered"]
    assert plain(messages(prompt.parts)) == [
        {"role": part["role"], "content": part["content"]} for part in expected["parts"]
    ]
    if isinstance(expected["string"], str):
        assert join_contents(prompt.parts) == expected["string"]
    else:
        with pytest.raises(PromptPoetError):
            join_contents(prompt.parts)
    assert [_part(part) for part in prompt.parts] == expected["parts"]
    count = _counter(given.get("encode", "words"))
    if "tokenize_error" in expected:
        with pytest.raises(PromptPoetError) as caught:
            count_parts(prompt.parts, count)
        assert caught.value.kind == "tokens"
        return
    counts = count_parts(prompt.parts, count)
    if "section_token_counts" in expected:
        assert _section_counts(prompt.parts, counts) == expected["section_token_counts"]
    assert [each.tokens for each in counts] == expected["token_counts"]
    if "truncation" in expected:
        _check_truncation(prompt.parts, counts, given, expected["truncation"])


def _check_failure(
    path: Path, data: dict[str, Any], options: RenderOptions, expected: dict[str, Any]
) -> None:
    with pytest.raises(PromptPoetError) as caught:
        render(str(path), data, options=options)
    failure, error = caught.value, expected["error"]
    assert failure.kind == expected["stage"]
    assert failure.cause == error["type"]
    if "template_line" in error:
        assert failure.line == error["template_line"] - 1
        assert failure.path is not None
        assert Path(failure.path).name == error["template_file"]
    if "line" in error:
        assert (failure.rendered_line, failure.rendered_column) == (error["line"], error["column"])
    if "rendered" in expected:
        assert render_text(str(path), data, options=options).text == expected["rendered"]


def _check_truncation(
    parts: tuple[PromptPart, ...],
    counts: tuple[PartCount, ...],
    options: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    priorities = [part.truncation_priority for part in parts]
    tokens = [each.tokens for each in counts]
    if "blocks" in expected:
        blocks = truncation_blocks(priorities, tokens)
        assert [
            {"left": block.left, "right": block.right, "priority": block.priority, "tokens": block.tokens}
            for block in blocks
        ] == expected["blocks"]
    limit, step = options["token_limit"], options.get("truncation_step")
    if "error" in expected:
        with pytest.raises(PromptPoetError) as caught:
            truncate(priorities, tokens, limit, step)
        assert caught.value.kind == "truncation"
        assert caught.value.cause == expected["error"]["type"]
        return
    result = truncate(priorities, tokens, limit, step)
    assert list(result.kept) == expected["kept"]
    assert sorted((*result.kept, *result.removed)) == list(range(len(parts)))
    assert result.tokens_after == expected["tokens_after"]
