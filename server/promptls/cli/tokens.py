"""`promptls tokens`: the tokens of prompts, part by part."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.cli.render import print_failure, refuse_other_files
from promptls.cli.table import Column, Row, table
from promptls.cli.terminal import counted, print_json, shown_path
from promptls.text.failure import WrongUse

if TYPE_CHECKING:
    from promptls.cli.chosen_files import ChosenFiles
    from promptls.rendering.job import RenderJob
    from promptls.rendering.limits import Limits
    from promptls.rendering.outcome import RenderFailure, Rendering
    from promptls.rendering.samples import Sample

SUMMARY = "count the tokens of prompts"

DESCRIPTION = """\
Renders prompts with their first sample, and counts the tokens of each part, exactly,
in the encoding of the file's header or of the project. Folders are walked for prompts;
sections are counted where they are included.

examples:
  promptls tokens support.yml.j2
  promptls tokens prompts/ --json
  promptls tokens prompts/ --encoding cl100k_base

exit codes: 0 counted, 1 something does not render or is over its limit, 2 wrong use"""


class Asked(NamedTuple):
    """A prompt to render, with the limits of its project."""

    job: RenderJob
    sample: Sample
    limits: Limits


class Counted(NamedTuple):
    """A prompt with what it was rendered with and to."""

    job: RenderJob
    sample: Sample
    outcome: Rendering | RenderFailure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the paths, the encoding and the output's form."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: this folder)")
    parser.add_argument("--encoding", metavar="NAME", help="an encoding, or a model whose encoding to take")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Counts every chosen prompt; 1 where one does not render, or is over its limit."""
    from promptls.cli.chosen_files import choose

    prompts = asyncio.run(_rendered(list(_asked(choose(arguments.paths), arguments.encoding))))
    if arguments.json:
        print_json([_as_json(prompt) for prompt in prompts])
    else:
        _print(prompts)
    return int(any(map(_is_wrong, prompts)))


def _asked(chosen: ChosenFiles, encoding: str | None) -> Iterator[Asked]:
    from promptls.meaning.kind import Kind
    from promptls.rendering.make import limits_for
    from promptls.rendering.request import job_for
    from promptls.rendering.samples import samples_of
    from promptls.tokens.encodings import UnknownEncodingError, encoding_name

    for path in chosen.all():
        if path in chosen.named:
            refuse_other_files(chosen.snapshot, path)
        elif chosen.snapshot.kind(path) not in {Kind.PARTS, Kind.OBJECT}:
            continue
        sample = samples_of(chosen.snapshot, path)[0]
        job = job_for(chosen.snapshot, path, sample.data, with_stand_ins=True)
        if encoding is not None:
            try:
                job = replace(job, encoding=encoding_name(encoding))
            except UnknownEncodingError as unknown:
                raise WrongUse(
                    f"there is no encoding `{encoding}`", remedy=f"did you mean `{unknown.nearest}`?"
                ) from None
        yield Asked(job, sample, limits_for(chosen.snapshot, path))


async def _rendered(asked: Sequence[Asked]) -> list[Counted]:
    from promptls.rendering.worker import RenderWorker

    workers = {limits: RenderWorker(limits) for limits in {item.limits for item in asked}}
    try:
        return [Counted(job, sample, await workers[limits].render(job)) for job, sample, limits in asked]
    finally:
        for worker in workers.values():
            await worker.close()


def _is_wrong(prompt: Counted) -> bool:
    from promptls.rendering.outcome import RenderFailure

    return isinstance(prompt.outcome, RenderFailure) or bool(prompt.outcome.problems)


def _print(prompts: Sequence[Counted]) -> None:
    from promptls.rendering.outcome import RenderFailure

    rows: list[Row] = []
    for job, sample, outcome in prompts:
        if isinstance(outcome, RenderFailure):
            rows.append(Row((shown_path(job.path), "", "", "does not render"), "red"))
            continue
        total = f"{outcome.tokens:,}"
        cells = (shown_path(job.path), f"`{sample.name}`", total, _share(job, outcome.tokens))
        rows.append(Row(cells, "red" if outcome.problems else "bold"))
        for part in outcome.parts:
            share = f"{part.tokens / outcome.tokens:.0%}" if outcome.tokens else ""
            rows.append(Row((f"  {part.name}", str(part.role), f"{part.tokens:,}", share)))
    if rows:
        columns = (
            Column("prompt"),
            Column("sample, role"),
            Column("tokens", "right"),
            Column("share", "right"),
        )
        print(table(columns, rows))
        print()
    for job, _, outcome in prompts:
        for failure in (outcome,) if isinstance(outcome, RenderFailure) else outcome.problems:
            print_failure(failure, job.path)
    done = [outcome.tokens for _, _, outcome in prompts if not isinstance(outcome, RenderFailure)]
    print(
        f"{counted(sum(done), 'token')} in {counted(len(done), 'prompt')}."
        if prompts
        else "There is no prompt here."
    )


def _share(job: RenderJob, tokens: int) -> str:
    return f"{tokens / job.token_limit:.0%} of {job.token_limit:,}" if job.token_limit > 0 else "no limit"


def _as_json(prompt: Counted) -> dict[str, Any]:
    from promptls.rendering.outcome import RenderFailure

    job, sample, outcome = prompt
    heading = {"path": shown_path(job.path), "sample": sample.name, "encoding": job.encoding}
    if isinstance(outcome, RenderFailure):
        return {**heading, **outcome.to_json()}
    return {
        **heading,
        "tokens": outcome.tokens,
        "token_limit": job.token_limit if job.token_limit > 0 else None,
        "parts": [{"name": part.name, "role": part.role, "tokens": part.tokens} for part in outcome.parts],
        "problems": [problem.message for problem in outcome.problems],
    }
