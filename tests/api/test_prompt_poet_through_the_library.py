"""Every recorded case of the real Prompt Poet gives the same result through `promptls.load`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import promptls
from oracle import recorded
from support.prompt_poet_cases import data_of, plain, written

WORDS: dict[str, Callable[[str], Any]] = {"words": str.split, "chars": list}


@pytest.mark.parametrize("sandboxed", [True, False], ids=["sandboxed", "plain"])
@pytest.mark.parametrize("case", recorded.parameters("prompt_poet"))
def test_the_library_does_what_prompt_poet_does(
    case: dict[str, Any], sandboxed: bool, tmp_path: Path
) -> None:
    given, expected = case.get("options", {}), case["expected"]
    path, data = written(case, tmp_path), data_of(case)
    options: dict[str, Any] = {}
    if "space_marker" in given:
        options["markers"] = promptls.Markers(space=given["space_marker"])
    encoding = given.get("encode", "words")

    def made() -> promptls.RenderedPrompt:
        template = promptls.load(path, encoding=WORDS.get(encoding, encoding), sandboxed=sandboxed, **options)
        return template.render(data)

    if "error" in expected:
        with pytest.raises(promptls.PromptError) as caught:
            made()
        _check_failure(caught.value, expected)
        return
    prompt = made()
    assert prompt.text == expected["rendered"]
    assert plain(prompt.messages) == [
        {"role": part["role"], "content": part["content"]} for part in expected["parts"]
    ]
    if isinstance(expected["string"], str):
        assert prompt.string == expected["string"]
    else:
        with pytest.raises(promptls.PromptError, match="content"):
            _ = prompt.string
    assert [part.name for part in prompt.parts] == [part["name"] for part in expected["parts"]]
    if "tokenize_error" in expected:
        with pytest.raises(promptls.PromptError) as caught:
            _ = prompt.tokens
        assert caught.value.kind == "tokens"
        return
    assert list(prompt.tokens.parts) == expected["token_counts"]
    if "section_token_counts" in expected:
        assert _section_counts(prompt) == expected["section_token_counts"]
    if "truncation" in expected:
        _check_truncation(prompt, given, expected["truncation"])


def _section_counts(prompt: promptls.RenderedPrompt) -> dict[str, Any]:
    counts = prompt.tokens
    return {
        part.name: dict(zip([section.name for section in part.sections], sections, strict=True))
        if part.sections
        else {"_part_total": tokens}
        for part, tokens, sections in zip(prompt.parts, counts.parts, counts.sections, strict=True)
        if tokens
    }


def _check_failure(failure: promptls.PromptError, expected: dict[str, Any]) -> None:
    error = expected["error"]
    cause: Any = failure.__cause__
    assert (failure.kind, cause.cause) == (expected["stage"], error["type"])
    if "template_line" in error:
        assert (failure.line, Path(failure.path).name) == (error["template_line"], error["template_file"])
    if "line" in error:
        assert failure.rendered_line == error["line"] + 1


def _check_truncation(
    prompt: promptls.RenderedPrompt, options: dict[str, Any], expected: dict[str, Any]
) -> None:
    limit, step = options["token_limit"], options.get("truncation_step")
    if "error" in expected:
        with pytest.raises(promptls.PromptError) as caught:
            prompt.truncate(limit, step)
        cause: Any = caught.value.__cause__
        assert (caught.value.kind, cause.cause) == ("truncation", expected["error"]["type"])
        return
    left = prompt.truncate(limit, step)
    assert left.parts == tuple(prompt.parts[index] for index in expected["kept"])
    assert left.tokens.total == expected["tokens_after"]
    assert left.string == "".join(part.content for part in left.parts)
