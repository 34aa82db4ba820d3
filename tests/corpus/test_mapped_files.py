"""Files render with source maps as they do without, and every character leads to its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.template_rendering import render_text
from promptls.rendering.source_map.compiled_templates import render_mapped
from support.corpus import corpus
from support.mapped import check

_OWN = {"token_limit", "escape_special_characters", "range", "dict", "namespace", "loop", "cycler", "joiner"}
MESSAGES = [{"content": "one", "role": "user", "name": "a"}, {"content": "two", "role": "user", "name": "b"}]
VALUES = {"nothing": None, "texts": "a text\nof two lines", "messages": MESSAGES}


def rendered(render: Any, path: Path, data: dict[str, Any]) -> Any:
    try:
        return render(str(path), data)
    except PromptPoetError as error:
        return (error.message, error.path, error.line)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("path", corpus("prompts", "not_prompts"))
def test_a_file_renders_the_same_and_leads_back(path: Path, kind: str) -> None:
    text = path.read_bytes().decode()
    # Whatever name a file reads, there is a value for it.
    names = set(re.findall(r"[A-Za-z_]\w*", text)) - _OWN
    data = {} if VALUES[kind] is None else dict.fromkeys(names, VALUES[kind])
    plain, found = rendered(render_text, path, data), rendered(render_mapped, path, data)
    if isinstance(found[0], str):
        assert found == plain
        return
    assert re.sub("0x[0-9a-f]+", "", found[0].text) == re.sub("0x[0-9a-f]+", "", plain.text)
    texts = {file: Path(file).read_bytes().decode() for file in found[0].files}
    check(found[1].text, found[1].segments, texts)
