"""A finished run beside a prompt, written like an experiment would."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from promptls.experiments.history import RunSummary, read_run
from promptls.experiments.manifest import hash_of_text


def write_run(
    prompt: Path, text: str, table: str, *, experiment: str, dataset: Path, name: str = "last-run"
) -> RunSummary:
    """Write a run of the prompt with this text, with the results in `table`, which is CSV; `pass` is good."""
    folder = prompt.parent / "experiments"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text(table, "utf-8")
    rows = list(csv.DictReader(io.StringIO(table)))
    metrics = [column for column in rows[0] if column.endswith("_match")]
    manifest: dict[str, Any] = {
        "run": name,
        "experiment": experiment,
        "prompt": f"../{prompt.name}",
        "files": {f"../{prompt.name}": hash_of_text(text)},
        "dataset": {
            "path": f"../{dataset.name}",
            "sha256": hashlib.sha256(dataset.read_bytes()).hexdigest(),
        },
        "models": [{"name": model} for model in dict.fromkeys(row.get("model", "echo") for row in rows)],
        "metrics": [
            {"name": metric, "kind": "discrete", "allowed_values": ["pass", "fail"], "value": 0.5,
             "scored": 1, "unscored": 0, "counts": {}}
            for metric in metrics
        ],
        "totals": {
            "results": len(rows),
            "failed": sum(bool(row.get("error")) for row in rows),
            "input_tokens": 1,
            "output_tokens": 1,
            "cost": None,
        },
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 1.0,
    }  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(manifest), "utf-8")
    prompt.write_text(text, "utf-8")
    return read_run(folder / f"{name}.json")
