"""Runs the real Prompt Poet on cases, in its environment, without promptls.

Reads a JSON list of cases from standard input, writes one of results to standard output.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

LONGEST_NUMBER = 10**30
"""JSON does not need to represent larger numbers."""


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    cases = json.loads(sys.stdin.buffer.read())
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    output.write(json.dumps([result(case) for case in cases]).encode())
    output.close()


def result(case: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case["files"].items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return of_prompt(case, str(Path(folder, "main.yml.j2")))


def of_prompt(case: dict[str, Any], path: str) -> dict[str, Any]:
    from prompt_poet import Prompt
    from prompt_poet import prompt as module

    seen: list[str] = []
    load = module.yaml.load

    def watched(text: str, Loader: Any) -> Any:  # noqa: N803 - PyYAML's name
        seen.append(text)
        return load(text, Loader=Loader)

    module.yaml.load = watched
    try:
        made = Prompt(
            template_data=case["data"],
            template_path=path,
            encode_func=encode_words,
            token_limit=case["token_limit"],
            allow_token_overrides=case["allow_token_overrides"],
            **(case["markers"] or {}),
        )
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {"error": type(error).__name__, "message": str(error), "rendered": seen[0] if seen else None}
    finally:
        module.yaml.load = load
    found: dict[str, Any] = {
        "rendered": seen[0],
        "messages": plain(made.messages),
        "names": plain([part.name for part in made.parts]),
        "sections": [
            [[plain(section.name), section.content] for section in part.sections or ()] for part in made.parts
        ],
    }
    found["string"] = attempt(lambda: made.string)
    error = attempt(made.tokenize)
    found["tokens"] = error or [len(part.tokens) for part in made.parts]
    found["truncated"] = []
    if error is None:
        for limit, step in case["truncations"]:
            error = attempt(lambda limit=limit, step=step: made.truncate(limit, step))
            found["truncated"].append(error or [plain(part.name) for part in made.parts])
    return found


def encode_words(text: str) -> list[str]:
    return re.findall(r"\S+", text)


def attempt(ask: Any) -> Any:
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {"error": type(error).__name__}


def plain(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return a value that JSON can represent, so that different values stay different; `around` are its
    containers.
    """
    if id(value) in around:
        return "…"
    inside = (*around, id(value))
    if isinstance(value, dict):
        return {shown(key): plain(its, inside) for key, its in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, inside) for each in value]
    if isinstance(value, set):
        return sorted(map(shown, value))
    if isinstance(value, (dt.date, bytes, float, int)) and not isinstance(value, bool):
        return shown(value) if not isinstance(value, int) or abs(value) > LONGEST_NUMBER else value
    return value


def shown(value: Any) -> str:
    """Return a value as Python writes it; very long numbers in another notation."""
    try:
        return repr(value)
    except ValueError:
        return hex(value) if isinstance(value, int) else f"{type(value).__name__} of {len(value)}"


if __name__ == "__main__":
    main()
