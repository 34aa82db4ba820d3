"""Results of the real Prompt Poet for each case; see `peer.py` for how it is run."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import peer
import tiktoken
import tiktoken_ext.openai_public
from jinja2 import TemplateSyntaxError

peer.absent("google")  # the loader of templates from Google Cloud Storage
from prompt_poet import Prompt  # noqa: E402
from prompt_poet import prompt as module  # noqa: E402

TEMPLATE = "main.yml.j2"
STAGES = {
    "_load_special_template_data": "data",
    "render_template": "render",
    "load_yaml": "yaml",
    "_render_parts": "parts",
    "__init__": "load",
}
"""The function that raises an error, and what it does; the first one in the traceback."""


def ask(case: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in {TEMPLATE: case["template"], **case.get("files", {})}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        found = made(case, folder)
    text = json.dumps(found).replace(json.dumps(name)[1:-1], "<dir>")
    result: dict[str, Any] = json.loads(text)
    return result


def made(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the result of a template that is written into a folder."""
    given = case.get("options", {})
    functions = {name: function(behavior) for name, behavior in case.get("functions", {}).items()}
    markers = {"space_marker": given["space_marker"]} if "space_marker" in given else {}
    rendered: list[str] = []
    load = module.yaml.load

    def load_yaml(text: str, Loader: Any) -> Any:  # noqa: N803 - PyYAML's name
        rendered.append(text)
        return load(text, Loader=Loader)

    try:
        with mock.patch.object(module.yaml, "load", load_yaml):
            prompt = Prompt(
                template_data={**case["data"], **functions},
                template_path=str(folder / TEMPLATE),
                encode_func=encoder(given.get("encode", "words")),
                **markers,
            )
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {**failure(error, folder), **({"rendered": rendered[0]} if rendered else {})}
    found: dict[str, Any] = {"rendered": rendered[0]}
    found["parts"] = [
        part_of(part, message) for part, message in zip(prompt.parts, prompt.messages, strict=True)
    ]
    string = peer.outcome(lambda: prompt.string)
    found["string"] = string.get("value", string)
    tokens = peer.outcome(prompt.tokenize)
    if "error" in tokens:
        found["tokenize_error"] = tokens["error"]
    else:
        found["token_counts"] = [len(part.tokens) for part in prompt.parts]
        if any(part.sections for part in prompt.parts):
            found["section_token_counts"] = prompt.get_section_token_counts()
    if "token_limit" in given:
        found["truncation"] = truncated(prompt, given["token_limit"], given.get("truncation_step"))
    return found


def function(behavior: dict[str, Any]) -> Callable[..., Any]:
    """Return a function with the behavior described in the case."""

    def call(*arguments: Any, **named: Any) -> Any:
        if "raises" in behavior:
            raise ValueError(behavior["raises"])
        return json.dumps(*arguments, **named) if "builtin" in behavior else behavior["returns"]

    return call


def encoder(name: str) -> Callable[[str], Any]:
    """Return a tokenizer: by words, by characters, or of an encoding."""
    simple: dict[str, Callable[[str], Any]] = {"words": lambda text: text.split(), "chars": list}
    return simple[name] if name in simple else tiktoken.get_encoding(name).encode


def packaged_ranks(url: str, **_named: Any) -> dict[bytes, int]:
    """Return the ranks of an encoding from an installed package, so that nothing is downloaded."""
    package = importlib.util.find_spec("bpe_openai")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0], "data", url.rpartition("/")[2] + ".gz")
    fields = gzip.decompress(path.read_bytes()).split()
    return dict(zip(map(base64.b64decode, fields[::2]), map(int, fields[1::2]), strict=True))


tiktoken_ext.openai_public.load_tiktoken_bpe = packaged_ranks


def failure(error: Exception, folder: Path) -> dict[str, Any]:
    """Return the stage at which a template fails, and the error with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    names = {frame.name for frame in frames}
    described = peer.described(error)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    if isinstance(error, TemplateSyntaxError):
        described |= {"message": error.message, "template_line": error.lineno, "template_file": error.name}
    elif inside:
        file = Path(inside[-1].filename).name
        described |= {"template_line": inside[-1].lineno, "template_file": file}
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        described |= {"line": mark.line, "column": mark.column}
    return {"stage": next(stage for name, stage in STAGES.items() if name in names), "error": described}


def part_of(part: Any, message: dict[str, Any]) -> dict[str, Any]:
    """Return a part without its unset fields."""
    found: dict[str, Any] = {"name": part.name, "role": message["role"], "content": message["content"]}
    if part.truncation_priority != 0:
        found["truncation_priority"] = part.truncation_priority
    if part.expected_template_data_keys is not None:
        found["expected_template_data_keys"] = part.expected_template_data_keys
    if part.sections is not None:
        found["sections"] = [section_of(section) for section in part.sections]
    return {key: peer.plain(value) for key, value in found.items()}


def section_of(section: Any) -> dict[str, Any]:
    fields = {
        "name": section.name,
        "content": section.content,
        "truncation_priority": section.truncation_priority,
        "token_count": None if section.tokens is None else len(section.tokens),
    }
    return {key: value for key, value in fields.items() if value is not None}


def truncated(prompt: Any, limit: int, step: int | None) -> dict[str, Any]:
    """Return the removable blocks, and the parts that remain under a limit."""
    found: dict[str, Any] = {}
    # Truncation begins with a copy of the parts, in which each is still to be known.
    for parts in (prompt.parts, prompt._parts_bak or ()):
        for index, part in enumerate(parts):
            part.number = index
    blocks = peer.outcome(
        lambda: [
            {
                "left": block.left,
                "right": block.right,
                "priority": block.truncation_priority,
                "tokens": block.total_tokens,
            }
            for block in prompt._build_truncation_blocks()
        ]
    )
    if "value" in blocks:
        found["blocks"] = blocks["value"]
    outcome = peer.outcome(lambda: prompt.truncate(limit, step))
    if "error" in outcome:
        found["error"] = outcome["error"]
    else:
        found["kept"] = [part.number for part in prompt.parts]
        found["tokens_after"] = len(prompt.tokens)
    return found


if __name__ == "__main__":
    peer.answer(ask)
