"""Prompt in a JSON file that is not valid JSON.

## What it does

Reports the first error of a prompt's JSON file, such as a missing or an extra comma.

## Why is this bad?

Ragas and OpenCompass read the file with `json.load`, which raises an exception. YAML is more lenient, so
such a file may work elsewhere.

## Example

```yaml
-- saved.json --
{
  "instruction": "Answer the question.",
  "input_keys": ["question"],
  "output_key": "answer",
                        ^ invalid-json
}
```

Use instead:

```yaml
-- saved.json --
{
  "instruction": "Answer the question.",
  "input_keys": ["question"],
  "output_key": "answer"
}
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import EVALUATION_KINDS, OBJECT_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.kind import Kind
from promptls.text.errors import trailing_comma
from promptls.text.filenames import is_json_file
from promptls.text.positions import Span

_KEY: Final = re.compile(
    r'"(instruction|input_keys|output_key|output_type|examples|infer_cfg|format_version|original_hash'
    r'|metric_type|allowed_values|response_model_info)"[ \t]*:'
)
_MIN_KEYS: Final = 3
"""The number of prompt object keys that identify a broken file as a prompt object."""


def check(file: File) -> Iterator[Finding]:
    """Yield the first error of the JSON."""
    if not is_json_file(file.path) or file.snapshot.project(file.path).excludes(file.path):
        return
    text = file.template.source.text
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError):
            return  # a number with too many digits
        keys = {key[1] for key in _KEY.finditer(text)}
        if file.kind is not Kind.OTHER or ("instruction" in keys and len(keys) >= _MIN_KEYS):
            yield _finding(text, error)
    except RecursionError:
        return


def _finding(text: str, error: json.JSONDecodeError) -> Finding:
    start = len(text) - len(text.removeprefix("\ufeff"))
    comma = trailing_comma(error)
    if comma is not None:
        span = Span(start + comma, start + comma + 1)
        fix = Fix("Remove the comma", (Edit(span, ""),), preferred=True)
        return Finding(span, "JSON allows no comma after the last entry", (fix,))
    offset = start + error.pos
    end = len(text[:offset].rstrip())
    if error.msg.startswith("Expecting ',' delimiter") and text[offset : offset + 1] in {'"', "{", "["}:
        if _wants_key(f"{text[:end]},{text[end:]}", offset + 1):
            message = "this cannot be here: a `}` is missing above, or the name of a key"
            return Finding(Span(offset, offset + 1), message)
        fix = Fix("Add a comma", (Edit(Span(end, end), ","),), preferred=True)
        return Finding(Span(max(end - 1, 0), end), "a comma is missing after this entry", (fix,))
    span = Span(min(offset, len(text)), min(offset + 1, len(text)))
    return Finding(span, f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}")


def _wants_key(text: str, offset: int) -> bool:
    """Return whether JSON requires the key of an object at `offset`, and nothing is wrong before it."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        start = len(text) - len(text.removeprefix("\ufeff"))
        return error.pos + start == offset and error.msg.startswith("Expecting property name")
    return False


RULE = Rule(check, severity="error", kinds=OBJECT_KINDS | EVALUATION_KINDS | {Kind.OTHER})
