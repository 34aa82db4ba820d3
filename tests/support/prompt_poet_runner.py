"""What the real Prompt Poet makes of cases; runs in an environment of its own, without promptls.

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
            Path(folder, name).write_bytes(text.encode("utf-8", "surrogatepass"))
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
            encode_func=lambda text: re.findall(r"\S+", text),
            token_limit=case["token_limit"],
            allow_token_overrides=case["allow_token_overrides"],
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


def attempt(ask: Any) -> Any:
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {"error": type(error).__name__}


def plain(value: Any) -> Any:
    """JSON can carry it, and unlike values stay unlike."""
    if isinstance(value, dict):
        return {repr(key): plain(its) for key, its in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (dt.date, bytes, set)) or str(value) == "nan":
        return repr(value)
    return value


if __name__ == "__main__":
    main()
