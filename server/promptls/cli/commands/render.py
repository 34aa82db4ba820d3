"""`promptls render`: a rendered prompt as parts, text or messages."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from promptls.cli.input.options import whole_number
from promptls.cli.input.trust import add_trust_argument, trust_to_render
from promptls.cli.output.safe_stream import write_document
from promptls.cli.output.terminal import indented, paint, print_failure, print_json, printed_path, shown_path
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.rendering.job import RenderJob
    from promptls.rendering.outcome import RenderedPart, Rendering
    from promptls.rendering.samples import Sample

SUMMARY = "render a prompt"

DESCRIPTION = """\
Render a prompt and print its parts with roles and token counts, and what a token limit cuts.
The data is the file's first sample: from its `samples` file, its examples or its dataset.
Choose other data with `--sample`, `--row` or `--data`. Functions files are run, so their folder
must be trusted; on a terminal, you are asked once.

examples:
  promptls render support.yml.j2
  promptls render support.yml.j2 --sample urgent
  promptls render support.yml.j2 --data '{"text": "Where is my invoice?"}'
  promptls render support.yml.j2 --row 7 --string | less
  promptls render support.yml.j2 --limit 500 --step 50
  promptls render mmlu.yml.j2 --viewer --rows 3 --meta-template chat
  promptls render mmlu_ppl.py --viewer --dataset lukaemon_mmlu_anatomy

exit codes: 0 rendered, 1 rendering failed, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, its data, its limit and the output's form."""
    parser.add_argument("file", metavar="FILE", help="the prompt file")
    data = parser.add_argument_group("data").add_mutually_exclusive_group()
    data.add_argument("--sample", metavar="NAME", help="use the sample with this name")
    data.add_argument(
        "--row", metavar="N", type=whole_number, help="use row N, from 1, of the first experiment's dataset"
    )
    data.add_argument("--data", metavar="FILE|JSON", help="inputs: a JSON or YAML file, or JSON text")
    rows = parser.add_argument_group("evaluation prompts")
    rows.add_argument(
        "--viewer", action="store_true", help="show the prompts that OpenCompass sends, with examples"
    )
    rows.add_argument("--rows", metavar="N", type=whole_number, help="with --viewer: number of rows")
    rows.add_argument("--all", action="store_true", help="with --viewer: all rows")
    rows.add_argument(
        "--meta-template",
        metavar="NAME",
        help="meta template of the model: `none`, `chat`, or a name from the prompt or settings",
    )
    rows.add_argument("--dataset", metavar="NAME", help="with --viewer: dataset of a Python configuration")
    limit = parser.add_argument_group("token limit")
    limit.add_argument(
        "--limit", metavar="TOKENS", type=whole_number, help="truncate to this number of tokens"
    )
    limit.add_argument(
        "--step", metavar="TOKENS", type=whole_number, help="truncate in multiples of this number of tokens"
    )
    form = parser.add_argument_group("output").add_mutually_exclusive_group()
    form.add_argument("--string", action="store_true", help="print only the prompt, as one text")
    form.add_argument("--messages", action="store_true", help="print the messages as JSON")
    form.add_argument("--json", action="store_true", help="print the complete rendering as JSON")
    add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Render and prints; 1 where the prompt does not render, or cannot be counted or cut."""
    from promptls.cli.input.chosen_files import choose_one, refuse_other_files
    from promptls.cli.input.chosen_sample import chosen_sample
    from promptls.rendering.make import job_for, limits_for
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import render_once

    if arguments.viewer and arguments.file.endswith(".py"):
        from promptls.cli.output.render_viewer import view_configuration

        return view_configuration(arguments)
    chosen, path = choose_one(arguments.file)
    refuse_other_files(chosen.snapshot, path)
    trust_to_render(chosen, [path], this_time=arguments.trust)
    snapshot = chosen.snapshot
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
        write_document((outcome.string or "") + "\n" * sys.stdout.isatty())
    else:
        _print_parts(job, sample, outcome)
    _print_notes(job, outcome)
    for problem in outcome.problems:
        print_failure(problem, path)
    return int(bool(outcome.problems))


def _print_notes(job: RenderJob, rendering: Rendering) -> None:
    """Print how this rendering differs from the prompt in production."""
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
    print(f"{paint(printed_path(job.path), 'bold')} with `{sample.name}` ({sample.source}), {job.encoding}\n")
    for part in rendering.parts:
        _print_part(part)
    print(_total(job, rendering))


def _print_part(part: RenderedPart) -> None:
    cut = "" if part.kept else " · cut by the token limit"
    heading = f" · {part.role} · {plural(part.tokens, 'token')}{cut}"
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
    total = f"{paint(plural(rendering.tokens, 'token'), 'bold')} in {plural(len(rendering.parts), 'part')}"
    if job.token_limit <= 0:
        return f"{total}, no limit"
    limit = f"the limit of {job.token_limit:,}"
    share = f"{rendering.tokens_kept / job.token_limit:.0%} of {limit}"
    if rendering.tokens_kept == rendering.tokens:
        return f"{total}, {share}"
    return f"{total}, {rendering.tokens_kept:,} of them kept: {share}"
