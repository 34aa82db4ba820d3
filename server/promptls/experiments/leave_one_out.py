"""Leave-one-out evaluation of few-shot examples: an experiment run with all examples, and without each one.

These runs are not part of the history. Answers are cached, so an interrupted evaluation
continues where it stopped when it is repeated.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments import leave_one_out_report, run_protocol
from promptls.experiments.comparison import Comparison, compare_with
from promptls.experiments.experiment import Experiment
from promptls.experiments.history import RunSummary, read_run
from promptls.experiments.manifest import hash_of_file, hash_of_text, relative, write_manifest
from promptls.experiments.plan import Plan
from promptls.experiments.prepare import Prepared, prepare_run
from promptls.experiments.prompt_runner import run_plan
from promptls.security.written_files import TEMPORARY_PREFIX
from promptls.semantic.few_shot import FewShot, few_shots
from promptls.semantic.template import Template
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_dollars
from promptls.workspace.disk import source_of, text_on_disk

MAX_EXAMPLES = 40
"""Maximum number of examples that are left out; each may cost as much as a run."""


class Variant(NamedTuple):
    """The experiment without one example, which is part of the file at `path`."""

    path: str
    text: str
    example: FewShot
    prepared: Prepared


class LeftOut(NamedTuple):
    """The prepared experiment with all examples and without each one, and the combined plan."""

    whole: Prepared
    variants: tuple[Variant, ...]
    planned: run_protocol.Planned


@asynccontextmanager
async def prepared_left_out(request: run_protocol.RunRequest) -> AsyncIterator[LeftOut]:
    """Prepare `request` with and without each few-shot example of the prompt and its included files.

    Raises the errors of `prepare_run`, and `UsageError` for a prompt without examples.
    """
    async with AsyncExitStack() as stack:
        whole = await stack.enter_async_context(prepare_run(request))
        plan = whole.plan
        failing = plan.rendered.failing
        if len(failing) == plan.rows:
            raise UsageError(
                f"no row can be rendered, so the examples cannot be compared: {failing[0].message}",
                FilePlace(plan.experiment.prompt),
                "correct the prompt, or the dataset",
            )
        found = [
            (path, text, example)
            for path in plan.files
            if (text := _text_of(path, plan.experiment)) is not None
            for example in few_shots(Template(source_of(path, text)))
        ]
        if not found:
            raise UsageError(
                "the prompt shows no few-shot examples, so none can be left out",
                FilePlace(plan.experiment.prompt),
                "examples are the `examples` of a prompt object, or the items of a list such as "
                "`{% set examples = [ … ] %}` that a template iterates over",
            )
        if len(found) > MAX_EXAMPLES:
            raise UsageError(
                f"the prompt shows {len(found)} examples; at most {MAX_EXAMPLES} can be left out in turn",
                FilePlace(plan.experiment.prompt),
                "try a prompt with fewer examples",
            )
        variants = []
        for path, text, example in found:
            unsaved = {**request.unsaved, path: example.without(text)}
            without = await stack.enter_async_context(prepare_run(replace(request, unsaved=unsaved)))
            variants.append(Variant(path, text, example, without))
        yield LeftOut(whole, tuple(variants), _plan(whole, variants))


async def run_left_out(
    left: LeftOut, on_event: Callable[[run_protocol.Event], None]
) -> run_protocol.Finished:
    """Run all variants and write the report, which is also the `manifest` of the result.

    A cancelled run reports `Stopped`; its answers are cached. Raises the errors of `run_plan`.
    """
    plans = [left.whole.plan, *(variant.prepared.plan for variant in left.variants)]
    experiment = left.whole.plan.experiment
    total = sum(plan.results for plan in plans)
    done = 0

    def notify(event: run_protocol.Event) -> None:
        if isinstance(event, run_protocol.RowFinished):
            # The remaining time is extrapolated from the rate of this run.
            left_rows = total - done - event.done
            seconds = left_rows / event.rate if event.rate else event.left
            on_event(replace(event, done=done + event.done, total=total, left=seconds))
        elif isinstance(event, run_protocol.Stopped):
            on_event(run_protocol.Stopped(done + event.done, total, "", event.why))

    on_event(run_protocol.Started("leave one out", total, ""))
    with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX) as folder:
        runs: list[RunSummary] = []
        for plan in plans:
            # The plan has opened the cache of the prompt's own results folder.
            aside = replace(plan, experiment=replace(plan.experiment, folder=Path(folder)))
            ended = await _run(aside, notify)
            runs.append(read_run(Path(ended.manifest_path)))
            done += plan.results
        report = _report(left, runs)
    path = leave_one_out_report.report_path(experiment.folder, experiment.prompt, experiment.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_manifest(path, report)
    except OSError as error:
        raise UserError(
            f"the report cannot be written: {(error.strerror or str(error)).lower()}",
            FilePlace(path),
            "free some space and ask again: the answers are in the cache",
        ) from None
    finished = run_protocol.Finished(str(path), str(path), report)
    on_event(finished)
    return finished


async def _run(plan: Plan, notify: Callable[[run_protocol.Event], None]) -> run_protocol.Finished:
    try:
        return await run_plan(plan, notify)
    except UserError as failure:
        # The run's advice to resume it does not apply, because this run is not stored.
        raise UserError(
            failure.message,
            FilePlace(plan.experiment.prompt),
            "fix that and run the command again; cached answers cost nothing",
        ) from failure


def _text_of(path: str, experiment: Experiment) -> str | None:
    if path == str(experiment.prompt):
        return experiment.text
    text = experiment.unsaved.get(path)
    return text_on_disk(path) if text is None else text


def _plan(whole: Prepared, variants: Sequence[Variant]) -> run_protocol.Planned:
    """Return the combined plan: identical prompts of several runs are sent once."""
    base = whole.planned
    seen = set(whole.plan.digests)
    calls, cached, tokens = base.calls, base.cached, base.tokens
    prompt_cost, longest_cost = base.prompt_cost, base.longest_cost
    for variant in variants:
        plan, planned = variant.prepared.plan, variant.prepared.planned
        fresh = set(plan.digests) - seen
        seen |= fresh
        each = len(plan.experiment.models) * plan.experiment.repeats
        new = min(planned.calls, len(fresh) * each)
        share = new / planned.calls if planned.calls else 0.0
        calls += new
        cached += plan.results - new
        tokens += round(planned.tokens * share)
        prompt_cost = _sum(prompt_cost, planned.prompt_cost, share)
        longest_cost = _sum(longest_cost, planned.longest_cost, share)
    experiment = whole.plan.experiment
    cost = longest_cost if longest_cost is not None else prompt_cost
    unpriced = any(each.paid and each.prompt_cost is None for each in whole.plan.estimates)
    question = None
    what = f"Leaving out each of {len(variants)} examples makes {calls:,} calls"
    if cost is not None and cost > experiment.ask_above_cost:
        question = f"{what}, for about {in_dollars(cost)}. Run it?"
    elif unpriced and calls > experiment.ask_above_calls:
        question = f"{what} of models whose price is not known. Run it?"
    return replace(
        base,
        calls=calls,
        cached=cached,
        tokens=tokens,
        prompt_cost=prompt_cost,
        longest_cost=longest_cost,
        changed=None,
        before=None,
        question=question,
    )


def _sum(one: float | None, other: float | None, share: float) -> float | None:
    return None if one is None and other is None else (one or 0.0) + (other or 0.0) * share


def _report(left: LeftOut, runs: Sequence[RunSummary]) -> dict[str, Any]:
    whole, plan = runs[0], left.whole.plan
    shown = [_shown(plan, variant.prepared.plan) for variant in left.variants]
    with_rows = [run for run, (rows, _) in zip(runs[1:], shown, strict=True) if rows]
    compared = iter(compare_with(whole, with_rows) if with_rows and whole.metrics else ())
    examples = []
    for variant, (rows, tokens) in zip(left.variants, shown, strict=True):
        comparison = next(compared, None) if rows else None
        examples.append(asdict(_assessment(variant, rows, tokens, plan, comparison)))
    experiment = plan.experiment
    return {
        "format": leave_one_out_report.FORMAT,
        "prompt": relative(experiment.prompt, experiment.folder),
        "experiment": experiment.name,
        "models": [model.name for model in experiment.models],
        "rows": plan.rows,
        "chosen": plan.choice.text or None,
        "dataset_sha256": hash_of_file(plan.dataset.path),
        "files": {
            relative(Path(path), experiment.folder): hash_of_text(_text_of(path, experiment) or "")
            for path in plan.files
        },
        "made": datetime.now(timezone.utc).astimezone().isoformat(timespec="seconds"),
        "tokens": round(plan.rendered.tokens / max(plan.rows, 1), 1),
        "metrics": [
            {"name": each.name, "kind": each.kind, "value": each.value, "text": each.text}
            for each in whole.metrics
        ],
        "examples": examples,
    }


def _shown(plan: Plan, without: Plan) -> tuple[int, float]:
    """Return the number of rows that show the example, and its average number of tokens."""
    before = {row.number: rendered for row, rendered in plan.rendered}
    saved = [
        before[row.number].tokens - rendered.tokens
        for row, rendered in without.rendered
        if row.number in before and before[row.number].digest != rendered.digest
    ]
    return len(saved), sum(saved) / len(saved) if saved else 0.0


def _assessment(
    variant: Variant, shown: int, tokens: float, plan: Plan, comparison: Comparison | None
) -> leave_one_out_report.ExampleAssessment:
    example, text = variant.example, variant.text
    written = text[example.span.start : example.span.end]
    metrics = comparison.metrics if comparison is not None else ()
    verdict = leave_one_out_report.verdict_of(metrics, shown)
    failed = variant.prepared.plan.rendered.failing
    message = leave_one_out_report.describe_assessment(verdict, metrics, shown, plan.rows, tokens)
    if len(failed) > len(plan.rendered.failing):
        message += f"; without it {len(failed)} rows cannot be rendered"
    return leave_one_out_report.ExampleAssessment(
        file=relative(Path(variant.path), plan.experiment.folder),
        line=text.count("\n", 0, example.span.start),
        number=example.number,
        label=example.label,
        digest=hash_of_text(written),
        shown=shown,
        tokens=round(tokens, 1),
        verdict=verdict,
        message=message,
        metrics=[
            {
                "name": each.metric,
                "with": each.difference.before,
                "without": each.difference.after,
                "difference": each.difference.difference,
                "low": each.difference.low,
                "high": each.difference.high,
                "p_value": each.p_value,
                "needed": each.difference.needed,
            }
            for each in metrics
        ],
    )
