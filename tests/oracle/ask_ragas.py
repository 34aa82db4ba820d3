"""Results of the real Ragas for each case; see `peer.py` for how it is run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import peer

# Importing all of Ragas takes every package of LangChain, of which prompts need one.
peer.without_init("ragas", "ragas.llms")
peer.absent("numpy", "ragas.llms.base", "ragas.llms.json_load")
sys.modules["ragas.llms"].BaseRagasLLM = peer.Absent  # type: ignore[attr-defined]

from ragas.llms.prompt import Prompt  # noqa: E402 - the rest of Ragas must be out of the way


def ask(case: dict[str, Any]) -> dict[str, Any]:
    try:
        prompt = Prompt(**case["prompt"])
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {"error": peer.described(error)}
    numbers = range(len(prompt.examples) + 1)
    return {
        "fields": prompt.dict(),
        "repr": repr(prompt),
        "to_string": prompt.to_string(),
        "examples": [
            peer.outcome(lambda number=number: prompt.get_example_str(number)) for number in numbers
        ],
        "format": peer.outcome(lambda: prompt.format(**case["inputs"]).to_string()),
        "save": saved(prompt),
    }


def saved(prompt: Any) -> dict[str, Any]:
    """Return the file that saving writes; fails if loading does not return the same prompt."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            prompt.save(name)
        except OSError as error:
            described = peer.described(error)
            return {"error": {**described, "message": described["message"].replace(name, "<cache_dir>")}}
        (path,) = folder.rglob("*.json")
        if Prompt._load(prompt.language, prompt.name, name) != prompt:
            raise AssertionError(f"{path.name} does not hold the prompt that was saved")
        return {"path": path.relative_to(folder).as_posix(), "content": path.read_text("utf-8")}


if __name__ == "__main__":
    peer.answer(ask)
