"""`promptls render --viewer`: OpenCompass prompts row by row, with in-context examples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.input.trust import trust_to_render
from promptls.cli.output.terminal import indented, paint, print_failure, print_json, printed_path, shown_path
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.rendering.job import RenderJob
    from promptls.workspace.snapshot import Snapshot


_ENDING: Final = ".yml.j2"


def view(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> int:
    """Print the prompts of the chosen rows; 1 where one of them cannot be made."""
    from promptls.rendering.make import limits_for
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import render_once

    job = viewer_job(snapshot, path, arguments)
    outcome = render_once(job, limits_for(snapshot, path))
    if isinstance(outcome, RenderFailure):
        if path.endswith(f".py{_ENDING}"):
            # The lines are those of the conversion, which nobody sees.
            outcome = replace(outcome, path=path.removesuffix(_ENDING), line=None)
        if arguments.json:
            print_json({"path": shown_path(path), **outcome.to_json()})
        else:
            print_failure(outcome, path)
        return 1
    viewer = outcome.viewer
    assert viewer is not None
    failed = any(row.get("failure") for row in viewer["all"])
    if arguments.json:
        print_json({"path": shown_path(path), "encoding": job.encoding, **viewer})
        return int(failed)
    print("\n".join(_lines(path, job.encoding, viewer)))
    if not viewer["rows"] and arguments.data is None:
        template = snapshot.template(path)
        named = template is not None and "path" in template.declarations.data
        why = (
            "`path` names no file here" if named else "name a file with `path`, or an experiment's `dataset`"
        )
        print(f"note: the values are made up, as there are no rows: {why}", file=sys.stderr)
    for problem in outcome.problems:
        print_failure(problem, path)
    rest = viewer["asked"] - len(viewer["all"])
    if rest > 0 and arguments.row is None and arguments.rows is None:
        print(f"note: {plural(rest, 'more row')}; `--rows N` and `--all` show them", file=sys.stderr)
    return int(failed)


def view_configuration(arguments: argparse.Namespace) -> int:
    """Return the same for a dataset of a configuration in Python, which is read and not run."""
    from promptls.cli.input.chosen_files import choose_text, existing
    from promptls.convert.registry import convert
    from promptls.workspace.beside import beside

    file = existing(arguments.file)
    made = convert(
        file.read_text("utf-8-sig"),
        str(file),
        "opencompass",
        "evaluation",
        dataset=arguments.dataset,
        open_beside=beside(str(file)),
    )
    chosen = choose_text(f"{file}{_ENDING}", made.text)
    trust_to_render(chosen, chosen.named, this_time=arguments.trust)
    code = view(chosen.snapshot, chosen.named[0], arguments)
    for each in made.lost:
        print(f"note: {each}", file=sys.stderr)
    return code


def viewer_job(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> RenderJob:
    """Return the job for the rows that the arguments choose; raises UsageError for a file of another kind."""
    from promptls.cli.input.chosen_sample import chosen_sample
    from promptls.rendering.evaluation_data import evaluation_job
    from promptls.rendering.make import job_for
    from promptls.semantic.kind import Kind

    if snapshot.kind(path) is not Kind.EVALUATION:
        raise UsageError(
            "the viewer is for evaluation prompts, and this is none",
            FilePlace(path),
            "leave `--viewer` out, or give the prompt an `infer_cfg`",
        )
    rows = 0 if arguments.all else arguments.rows or 1
    asked = evaluation_job(
        snapshot, path, row=arguments.row, rows=rows, meta_template=arguments.meta_template
    )
    data: Mapping[str, Any] = {}
    if arguments.data is not None or (asked.data.test is None and not asked.data.examples):
        # Without rows, the fields are shown with made-up values, and with given ones where there are some.
        data, asked = chosen_sample(snapshot, path, arguments).data, replace(asked, row=None)
    job = job_for(snapshot, path, data, token_limit=arguments.limit, with_stand_ins=True)
    return replace(job, evaluation=asked)


def with_choice(job: RenderJob, arguments: argparse.Namespace) -> RenderJob:
    """Return the job of an evaluation prompt with the row and the meta template that the arguments choose."""
    assert job.evaluation is not None
    chosen = replace(job.evaluation, row=arguments.row, meta_template=arguments.meta_template)
    return replace(job, evaluation=chosen)


def _lines(path: str, encoding: str, viewer: dict[str, Any]) -> Iterator[str]:
    meta = (
        "no meta template"
        if viewer["metaTemplate"] == "none"
        else f"meta template `{viewer['metaTemplate']}`"
    )
    chosen = (
        f"{viewer['retriever']} ({viewer['approximation']})"
        if viewer["approximation"]
        else viewer["retriever"]
    )
    how = f"{viewer['inferencer']}, {chosen}, {meta}, {encoding}"
    name = printed_path(Path(path))
    name = name.removesuffix(_ENDING) if name.endswith(f".py{_ENDING}") else name
    yield f"{paint(name, 'bold')} · {how}"
    for row in viewer["all"]:
        yield ""
        yield _heading(row, viewer["rows"])
        if row.get("failure"):
            yield f"    {paint('failed', 'red')}: {row['failure']}"
        for example in row["examples"]:
            yield f"  {paint('example', 'cyan')} {paint(_told(example), 'dim')}"
            yield indented(example["text"])
        for example in row["dropped"]:
            where = "" if example["label"] is None else f" from label {example['label']} on"
            yield f"  {paint('dropped', 'yellow')} {paint(f'{_told(example)} · does not fit{where}', 'dim')}"
            yield paint(indented(example["text"]), "dim")
        for prompt in row["prompts"]:
            name = "prompt" if prompt["label"] is None else f"label {prompt['label']}"
            told = f"· {plural(prompt['tokens'], 'token')}"
            yield f"  {paint(name, 'cyan')} {paint(told, 'dim')}"
            if "text" in prompt:
                yield indented(prompt["text"])
            for message in prompt.get("messages", ()):
                yield f"    {paint(str(message.get('role')), 'dim')}"
                yield indented(str(message.get("content", "")), 6)


def _heading(row: dict[str, Any], rows: int) -> str:
    number = f"row {row['row']}" + (f" of {rows}" if rows else "")
    chosen = len(row["examples"]) + len(row["dropped"])
    dropped = f", {len(row['dropped'])} of {plural(chosen, 'example')} left out" if row["dropped"] else ""
    return f"{paint(number, 'bold')}{dropped}"


def _told(example: dict[str, Any]) -> str:
    return f"· training row {example['row']} · {plural(example['tokens'], 'token')}"
