"""The output of `promptls run`: the plan with its cost, then scores, changes, failed rows, and a matrix."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from promptls.cli.permission import sent_lines
from promptls.cli.terminal import Column, TableRow, paint, printed_path, table
from promptls.models.model import shortcomings
from promptls.text.format import in_dollars, plural, shorten_line, shorten_text

if TYPE_CHECKING:
    from promptls.experiments.experiment import Experiment
    from promptls.experiments.history import MetricSummary, RunSummary
    from promptls.experiments.prepare import Prepared
    from promptls.experiments.run_protocol import Planned
    from promptls.experiments.verdicts import Threshold
    from promptls.models.model import ModelReference


def heading(prepared: Prepared) -> str:
    """Return a description of the run, its calls, its cost and its obstacles, in several lines."""
    plan, continued, planned = prepared
    experiment = plan.experiment
    models = " and ".join(model.name for model in experiment.models)
    if experiment.engine == "ray":
        models += " on Ray"
    rows = plural(plan.rows, "row")
    chosen = f" ({plan.choice.text})" if plan.choice.expression else ""
    lines = [
        f"{paint(printed_path(experiment.prompt), 'bold')}: experiment `{experiment.name}`",
        f"{rows} of {printed_path(plan.dataset.path)}{chosen}, {models}: {_calls(planned)}",
    ]
    lines += sent_lines(planned.sends, planned.environment)
    if planned.changed is not None:
        lines.append(
            paint(f"{planned.changed} of {planned.rows} rendered prompts differ from {planned.before}", "dim")
        )
    if (run := continued.resumed) is not None:
        lines.append(paint(f"{run.count:,} of {plan.results:,} results already exist", "dim"))
    if planned.in_flight is not None:
        lines.append(paint(planned.in_flight, "yellow"))
    if planned.calls and any(_may_be_long(experiment, model) for model in experiment.models):
        lines.append(paint("answers may be long, which takes time here: `max_tokens` limits them", "dim"))
    if planned.failing:
        lines.append(
            paint(f"{plural(planned.failing, 'row')} cannot be rendered; ", "yellow")
            + str(planned.first_failing)
        )
    if planned.over_limit:
        lines.append(
            paint(f"{plural(planned.over_limit, 'row')} over the limit of ", "yellow")
            + f"{plural(experiment.token_limit, 'token')}, and cut to it"
        )
    return "\n".join(lines)


def _may_be_long(experiment: Experiment, model: ModelReference) -> bool:
    """Return whether a model on this machine has no limit on the length of answers."""
    return model.provider == "local" and "max_tokens" not in {**model.parameters, **experiment.parameters}


def _calls(planned: Planned) -> str:
    judging = f" ({planned.judging:,} of them by metrics)" if planned.judging else ""
    estimate = f"{plural(planned.calls, 'call')}{judging}, about {plural(planned.tokens, 'input token')}"
    if planned.cached:
        estimate += f", {planned.cached:,} answered from the cache"
    if planned.longest_cost is not None and planned.longest_cost != planned.prompt_cost:
        estimate += f", {in_dollars(planned.prompt_cost or 0)} to {in_dollars(planned.longest_cost)}"
    elif planned.prompt_cost is not None:
        estimate += f", {in_dollars(planned.prompt_cost)} and the answers'"
    return estimate


SHOWN_ERRORS = 5
"""The number of rows with an error shown; the table has all of them."""

# The maximum number of results of a run whose answers are shown, and of lines of each.
SHOWN_ANSWERS = 3
MAX_LINES = 20

MAX_COUNTED = 5000
"""The number of results examined for incomplete answers."""

LOOKED_BACK = 20
"""The number of runs searched for one of a different version of the prompt."""

MAX_CHARACTERS = 240
"""The number of characters shown for one row."""


def threshold(word: str) -> Threshold:
    """Parse a threshold `METRIC=SCORE`; the score may be a percentage."""
    from promptls.experiments.verdicts import Threshold

    metric, equals, score = word.rpartition("=")
    try:
        least = float(score.removesuffix("%")) / (100 if score.endswith("%") else 1)
    except ValueError:
        least = float("nan")
    if not equals or not metric or least != least:  # noqa: PLR0124 - NaN differs from itself
        raise argparse.ArgumentTypeError(f"`{word}` is not `METRIC=SCORE`, such as `exact_match=0.8`")
    return Threshold(metric, least)


def print_run(run: RunSummary, thresholds: Mapping[str, float] | None = None) -> None:
    """Print the scores, failures, cost, and the path of the results.

    `thresholds` are those that the experiment declares; they do not apply to a partial run.
    """
    from promptls.experiments.history import run_before

    before = run_before(run)
    if run.metrics:
        columns = [Column("metric"), Column("score", "right"), Column(""), Column("")]
        print()
        print(table(columns, [_metric_row(metric, before) for metric in run.metrics]))
    print()
    if not run.is_complete:
        _print_partial(run, thresholds)
    if run.failed:
        print(paint(f"{plural(run.failed, 'row')} of {run.rows} failed", "red"))
        _print_rows(run, "error", run.failed)
        print(paint(f"ask them again: promptls run --retry-errors {run.name}", "dim"))
    if run.invalid:
        print(paint(f"{plural(run.invalid, 'answer')} without the format that the prompt requires", "yellow"))
        _print_rows(run, "problem", run.invalid)
    _print_incomplete(run)
    _print_unscored(run)
    if run.rows <= SHOWN_ANSWERS:
        _print_answers(run)
    _print_bad_answers(run)
    print(_taken(run))
    if run.cached >= run.rows:
        print(paint("all answers are from the cache: `--fresh` asks the model again", "dim"))
    print(f"table:    {printed_path(run.results)}")
    print(f"manifest: {printed_path(run.manifest)}")
    if before is not None and any(metric.value is not None for metric in before.metrics):
        print(paint(f"is it better? promptls compare {before.name} {run.name}", "dim"))
    elif (other := _other_version(run)) is not None:
        prompt = printed_path(other.prompt)
        print(paint(f"is it better than {prompt}? promptls compare {other.name} {run.name}", "dim"))


def _print_partial(run: RunSummary, thresholds: Mapping[str, float] | None) -> None:
    """Print that the scores cover only some rows, and the consequences."""
    from promptls.experiments.row_choice import chosen_rows, is_of_examples

    what = chosen_rows(str(run.rows_chosen))
    if is_of_examples(run.rows_chosen):
        print(paint(f"partial run: over {what} of the prompt, not over the dataset", "yellow"))
        return
    unchecked = "; thresholds apply to complete runs only" if thresholds else ""
    print(paint(f"partial run: only {what}{unchecked}", "yellow"))
    print(paint(f"run the other rows: promptls run --complete {run.name}", "dim"))


def _other_version(run: RunSummary) -> RunSummary | None:
    """Return the last run of a different prompt file whose scores are comparable to this one's."""
    from promptls.experiments.named_runs import known_runs

    metrics = {metric.name for metric in run.metrics}
    return next(
        (
            known
            for known in known_runs(run.manifest.parent, experiment=run.experiment, limit=LOOKED_BACK)
            if known.status == "finished"
            and known.prompt != run.prompt
            and known.rows_chosen == run.rows_chosen
            and metrics & known.scores.keys()
        ),
        None,
    )


def print_matrix(runs: list[RunSummary]) -> None:
    """Print the scores of several runs side by side, one line per run and model."""
    names = list(dict.fromkeys(metric.name for run in runs for metric in run.metrics))
    columns = [Column("prompt"), Column("model"), *(Column(name, "right") for name in names)]
    rows = []
    for run in runs:
        for model in run.models:
            metrics = {metric.name: metric.text for metric in run.of_model(model)}
            rows.append(
                TableRow([printed_path(run.prompt), model, *(metrics.get(name, "") for name in names)])
            )
    print()
    print(table(columns, rows))


def _print_incomplete(run: RunSummary) -> None:
    """Print how many answers are without text, cut off or filtered."""
    from promptls.experiments.history import row_results

    counts = Counter(
        words
        for line in islice(row_results(run), MAX_COUNTED)
        if not line.get("error")
        for words in shortcomings(line.get("response") or "", str(line.get("finish_reason")))
    )
    for words, count in counts.items():
        remedy = ": a larger value lets the model finish" if "max_tokens" in words else ""
        print(paint(f"{plural(count, 'answer')} {words}", "yellow") + remedy)


def _print_answers(run: RunSummary) -> None:
    """Print the answers of a small run, for users who try a prompt on a few rows."""
    from promptls.experiments.history import row_results

    for line in row_results(run):
        if line.get("response"):
            print(f"row {line['row_number']} (id {line['id']}) was answered:")
            print("\n".join(f"  {text}" for text in _lines(line["response"])))


def _lines(text: str) -> list[str]:
    """Return the first lines of a text."""
    lines = [shorten_text(line, MAX_CHARACTERS) for line in text.splitlines()]
    return lines if len(lines) <= MAX_LINES else [*lines[:MAX_LINES], "…"]


def _print_unscored(run: RunSummary) -> None:
    """Print each metric without scores for some answers, with the first reason."""
    from promptls.experiments.history import row_results
    from promptls.experiments.manifest import manifest_of

    is_missing = False
    for metric in run.metrics:
        if metric.unscored <= run.failed:
            continue
        line = next(
            (line for line in row_results(run) if not line["error"] and line.get(metric.name) == ""), None
        )
        if line is not None:
            reason = line.get(f"{metric.name}_reason") or "it gave none"
            count = plural(metric.unscored - run.failed, "answer")
            print(paint(f"{metric.name} has no score for {count}", "yellow"))
            print(f"  row {line['row_number']} (id {line['id']}): {shorten_line(reason, MAX_CHARACTERS)}")
            is_missing = True
    # An experiment in Python computes its scores itself.
    if is_missing and not run.failed and "written_in" not in manifest_of(run.manifest):
        print(paint(f"ask for them again: promptls run --retry-errors {run.name}", "dim"))


def _print_bad_answers(run: RunSummary) -> None:
    """Print the first answers with bad scores of a metric, with its reasons."""
    from promptls.experiments.verdicts import failed_rows

    found = [row for row in failed_rows(run) if not row.is_error]
    if not found:
        return
    print("rows to look at:")
    for row in found[:SHOWN_ERRORS]:
        print(f"  row {row.number} (id {row.cells['id']}): {shorten_line(row.message, MAX_CHARACTERS)}")
        if run.rows > SHOWN_ANSWERS and (answer := row.cells.get("response")):
            print(paint(f"    answer: {shorten_line(answer, MAX_CHARACTERS)}", "dim"))
    if len(found) > SHOWN_ERRORS:
        more = paint(f"promptls report {run.name}", "bold")
        print(f"  … and {len(found) - SHOWN_ERRORS} more: {more}")


def _print_rows(run: RunSummary, column: str, count: int) -> None:
    """Print the first different texts of a column, each with its first row and the number of others."""
    from promptls.experiments.history import row_results

    rows: dict[str, list[str]] = {}
    for line in islice((line for line in row_results(run) if line.get(column)), MAX_COUNTED):
        rows.setdefault(line[column], []).append(
            f"row {line['row_number']} (id {line['id']}, {line['model']})"
        )
    shown = dict(islice(rows.items(), SHOWN_ERRORS))
    for text, (first, *others) in shown.items():
        print(f"  {first}{f' and {len(others):,} more' if others else ''}: {text}")
    left = count - sum(map(len, shown.values()))
    if left:
        print(f"  … and {left:,} more, in the column `{column}` of the table")


def _taken(run: RunSummary) -> str:
    summary = f"{plural(run.rows, 'row')} in {run.seconds:g} s; {run.token_text}"
    if run.cached:
        summary += f"; {plural(run.cached, 'answer')} from the cache"
    if run.cost is not None:
        paid = (
            f", of which {in_dollars(run.paid)} were paid now" if run.cached and run.paid is not None else ""
        )
        summary += f", {in_dollars(run.cost)}{paid}"
    return summary


def _metric_row(metric: MetricSummary, before: RunSummary | None) -> TableRow:
    good = str(metric.allowed_values[0]) if metric.kind == "discrete" and metric.allowed_values else None
    shown = f"{metric.counts.get(good, 0)} of {metric.scored} {good}" if good else ""
    if metric.unscored:
        shown += f"{', ' if shown else ''}{metric.unscored} without a score"
    old = before.metric(metric.name) if before else None
    change = f"before: {old.text}" if old and old.value is not None else ""
    return TableRow([metric.name, metric.text, shown, change])
