"""Runs the real Ragas on prompt objects, in its environment, without promptls.

    python tests/benchmarks/ragas_peer.py JOBS.json

Prints a JSON list with the outcome of each job, in order.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    jobs = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    from ragas.llms.prompt import Prompt

    print(json.dumps([outcome(Prompt, job) for job in jobs]))


def outcome(make: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of one prompt object: None for everything that is rejected."""
    try:
        prompt = make(**job["fields"])
    except Exception:  # noqa: BLE001 - Ragas raises errors of many kinds
        return {"accepted": False}
    result: dict[str, Any] = {"accepted": True, "repr": repr(prompt)}
    result["text"] = attempt(prompt.to_string)
    result["example"] = attempt(lambda: prompt.get_example_str(0))
    result["formatted"] = attempt(lambda: prompt.format(**job["inputs"]).to_string())
    with tempfile.TemporaryDirectory() as folder:
        result["saved"] = attempt(lambda: saved(prompt, Path(folder)))
    return result


def saved(prompt: Any, folder: Path) -> list[list[str]]:
    """Return the files that saving writes, with their texts."""
    prompt.save(str(folder))
    return [[str(path.relative_to(folder)), path.read_text("utf-8")] for path in folder.rglob("*.json")]


def attempt(call: Any) -> Any:
    try:
        return call()
    except Exception:  # noqa: BLE001 - as above
        return None


if __name__ == "__main__":
    main()
