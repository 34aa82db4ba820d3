"""`promptls render`: what the model gets, part by part, as one text, or as messages."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from promptls.cli.input.options import whole_number
from promptls.cli.output.terminal import indented, paint, print_failure, print_json, shown_path
from promptls.text.counted import counted

if TYPE_CHECKING:
    from promptls.rendering.job import RenderJob
    from promptls.rendering.outcome import RenderedPart, Rendering
    from promptls.rendering.samples import Sample

SUMMARY = "show what a prompt renders to"

DESCRIPTION = """\
Renders a prompt and shows its parts with their roles and tokens, and what a token limit
cuts. The data is the file's first sample: from its `samples` file, else its examples,
else its dataset; `--sample`, `--row` and `--data` choose another.

examples:
  promptls render support.yml.j2
  promptls render support.yml.j2 --sample urgent
  promptls render support.yml.j2 --data '{"text": "Where is my invoice?"}'
  promptls render support.yml.j2 --row 7 --string | less
  promptls render support.yml.j2 --limit 500 --step 50
  promptls render mmlu.yml.j2 --viewer --rows 3 --meta-template chat
  promptls render mmlu_ppl.py --viewer --dataset lukaemon_mmlu_anatomy

exit codes: 0 rendered, 1 it does not render, 2 wrong use"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the file, its data, its limit and the output's form."""
    parser.add_argument("file", metavar="FILE", help="the prompt file")
    data = parser.add_argument_group("data").add_mutually_exclusive_group()
    data.add_argument("--sample", metavar="NAME", help="the sample of this name")
    data.add_argument(
        "--row", metavar="N", type=whole_number, help="row N, from 1, of the first experiment's dataset"
    )
    data.add_argument(
        "--data", metavar="FILE|JSON", help="a JSON or YAML file with the inputs, or JSON itself"
    )
    rows = parser.add_argument_group("evaluation prompts")
    rows.add_argument("--viewer", action="store_true", help="show what OpenCompass asks, with the examples")
    rows.add_argument("--rows", metavar="N", type=whole_number, help="with --viewer: this many rows")
    rows.add_argument("--all", action="store_true", help="with --viewer: all rows")
    rows.add_argument(
        "--meta-template",
        metavar="NAME",
        help="how a model lays dialogues out: `none`, `chat`, or one that prompt or settings name",
    )
    rows.add_argument(
        "--dataset", metavar="NAME", help="with --viewer: the data set of a configuration in Python"
    )
    limit = parser.add_argument_group("token limit")
    limit.add_argument("--limit", metavar="TOKENS", type=whole_number, help="cut to this many tokens")
    limit.add_argument(
        "--step", metavar="TOKENS", type=whole_number, help="cut in multiples of this many tokens"
    )
    form = parser.add_argument_group("output").add_mutually_exclusive_group()
    form.add_argument("--string", action="store_true", help="print the prompt as one text, and nothing else")
    form.add_argument("--messages", action="store_true", help="print the messages as JSON")
    form.add_argument("--json", action="store_true", help="print all that is known of the rendering as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Renders and prints; 1 where the prompt does not render, or cannot be counted or cut."""
    from promptls.cli.input.chosen_files import choose_one, refuse_other_files
    from promptls.cli.input.chosen_sample import chosen_sample
    from promptls.rendering.make import limits_for
    from promptls.rendering.once import render_once
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.request import job_for

    if arguments.viewer and arguments.file.endswith(".py"):
        from promptls.cli.output.render_viewer import view_configuration

        return view_configuration(arguments)
    snapshot, path = choose_one(arguments.file)
    refuse_other_files(snapshot, path)
    if arguments.viewer:
        from promptls.cli.output.render_viewer import view

        return view(snapshot, path, arguments)
    sample = chosen_sample(snapshot, path, arguments)
    job = job_for(
        snapshot,
        path,
        sample.data,
        token_limit=arguments.limit,
        truncation_step=arguments.step,
        with_stand_ins=True,
    )
    if job.evaluation is not None:
        from promptls.cli.output.render_viewer import with_choice

        job = with_choice(job, arguments)
    outcome = render_once(job, limits_for(snapshot, path))
    if isinstance(outcome, RenderFailure):
        if arguments.json:
            print_json({**_heading(job, sample), **outcome.to_json()})
        else:
            print_failure(outcome, path)
        return 1
    if arguments.json:
        print_json({**_heading(job, sample), **outcome.to_json()})
        return int(bool(outcome.problems))
    if arguments.messages:
        print_json(outcome.messages)
    elif arguments.string:
        print(outcome.string or "", end="\n" if sys.stdout.isatty() else "")
    else:
        _print_parts(job, sample, outcome)
    _print_notes(job, outcome)
    for problem in outcome.problems:
        print_failure(problem, path)
    return int(bool(outcome.problems))


def _print_notes(job: RenderJob, rendering: Rendering) -> None:
    """What makes the rendering another one than the prompt will have in use."""
    if job.stand_ins:
        names = ", ".join(f"`{name}`" for name in job.stand_ins)
        print(f"note: nobody provides {names}, so stand-ins were called", file=sys.stderr)
    if rendering.viewer and rendering.viewer["approximation"]:
        print(f"note: examples {rendering.viewer['approximation']}", file=sys.stderr)


def _heading(job: RenderJob, sample: Sample) -> dict[str, Any]:
    return {
        "path": shown_path(job.path),
        "sample": {"name": sample.name, "source": sample.source},
        "encoding": job.encoding,
        "token_limit": job.token_limit if job.token_limit > 0 else None,
        "truncation_step": job.truncation_step,
        "stand_ins": list(job.stand_ins),
    }


def _print_parts(job: RenderJob, sample: Sample, rendering: Rendering) -> None:
    print(f"{paint(shown_path(job.path), 'bold')} with `{sample.name}` ({sample.source}), {job.encoding}\n")
    for part in rendering.parts:
        _print_part(part)
    print(_total(job, rendering))


def _print_part(part: RenderedPart) -> None:
    cut = "" if part.kept else " · cut by the token limit"
    heading = f" · {part.role} · {counted(part.tokens, 'token')}{cut}"
    content = (
        part.content
        if isinstance(part.content, str)
        else json.dumps(part.content, ensure_ascii=False, indent=2)
    ).rstrip("\n")
    if part.kept:
        print(f"{paint(str(part.name), 'cyan')}{paint(heading, 'dim')}\n{indented(content)}\n")
    else:
        print(paint(f"{part.name}{heading}\n{indented(content)}", "dim") + "\n")


def _total(job: RenderJob, rendering: Rendering) -> str:
    total = f"{paint(counted(rendering.tokens, 'token'), 'bold')} in {counted(len(rendering.parts), 'part')}"
    if job.token_limit <= 0:
        return f"{total}, no limit"
    limit = f"the limit of {job.token_limit:,}"
    share = f"{rendering.tokens_kept / job.token_limit:.0%} of {limit}"
    if rendering.tokens_kept == rendering.tokens:
        return f"{total}, {share}"
    return f"{total}, {rendering.tokens_kept:,} of them kept: {share}"
