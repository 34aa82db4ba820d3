"""The report of a leave-one-out evaluation: its content and its file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from promptls.experiments.comparison import Chance, MetricComparison, amount, unit_of
from promptls.experiments.manifest import prompt_stem
from promptls.security.files import cached_by_file, read_text
from promptls.text.errors import parse_json

FORMAT = 2
"""The format version, incremented on incompatible changes."""

ExampleVerdict: TypeAlias = Literal["earns its tokens", "does harm", "inconclusive", "not shown"]


@dataclass(frozen=True, slots=True)
class ExampleAssessment:
    """The assessment of an example: its location, the number of rows that show it, and its value.

    `file` is relative to the results folder, and `line` counts from 0. `tokens` is its average number
    of tokens in a prompt that shows it. `digest` is the digest of its text, which identifies it
    after edits elsewhere.
    """

    file: str
    line: int
    number: int
    label: str
    digest: str
    shown: int
    tokens: float
    verdict: ExampleVerdict
    message: str
    metrics: list[dict[str, Any]]


def report_path(folder: Path, prompt: Path, experiment: str) -> Path:
    """Return the path of the last report on the prompt's examples, in the results folder."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in experiment)
    return folder / "leave_one_out" / f"{prompt_stem(prompt)}-{name}.json"


def known_report(folder: Path, prompt: Path, experiment: str) -> Mapping[str, Any] | None:
    """Return the last report on the prompt's examples, with absolute paths; None if there is none."""
    report = _read(report_path(folder, prompt, experiment), folder)
    return report if report is not None and report.get("prompt") == str(prompt) else None


@cached_by_file(32)
def _read(path: Path, folder: Path) -> Mapping[str, Any] | None:
    def absolute(name: str) -> str:
        return os.path.normpath(folder / name)

    try:
        report = parse_json(read_text(path))
        if report["format"] != FORMAT:
            return None
        return {
            **report,
            "prompt": absolute(report["prompt"]),
            "files": {absolute(name): digest for name, digest in report["files"].items()},
            "examples": [{**each, "file": absolute(each["file"])} for each in report["examples"]],
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def verdict_of(metrics: Sequence[MetricComparison], shown: int) -> ExampleVerdict:
    """Return the overall verdict of the comparisons between the runs with and without an example."""
    if not shown:
        return "not shown"
    verdicts = {each.verdict for each in metrics}
    if verdicts & {"better", "worse"} == {"worse"}:
        return "earns its tokens"
    if verdicts & {"better", "worse"} == {"better"}:
        return "does harm"
    return "inconclusive"


def describe_assessment(
    verdict: ExampleVerdict, metrics: Sequence[MetricComparison], shown: int, rows: int, tokens: float
) -> str:
    """Return a sentence with the verdict and its reasons, for readers without knowledge of statistics."""
    if verdict == "not shown":
        return "is in none of the rendered prompts: leaving it out changes nothing"
    costs = f"costs {tokens:.0f} tokens in {shown} of {rows} prompts"
    if not metrics:
        return f"{costs}; no metric says what it is worth"
    said = "; ".join(_describe_metric(each) for each in metrics)
    begin = {
        "earns its tokens": f"earns its tokens ({costs})",
        "does harm": f"does harm, and {costs}",
        "inconclusive": f"{costs}; {rows} rows do not show whether it is worth them",
    }[verdict]
    return f"{begin}: without it {said}"


def _describe_metric(compared: MetricComparison) -> str:
    kind, found = compared.kind, compared.difference
    change = f"{compared.metric} {amount(kind, found.difference, '+')}{unit_of(kind)}"
    if compared.verdict == "inconclusive" and found.needed is None:
        return f"{compared.metric} is the same"
    interval = f"95 % interval {amount(kind, found.low, '+')} to {amount(kind, found.high, '+')}"
    chance = Chance(compared.p_value, compared.compared)
    needed = f", about {found.needed:,} rows needed" if compared.verdict == "inconclusive" else ""
    return f"{change} ({interval}, {chance}{needed})"
