"""`promptls render`: what the model gets, part by part, as one text, or as messages."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.options import whole_number
from promptls.cli.terminal import error, paint, print_json, shown_path
from promptls.text.counted import counted
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.rendering.job import RenderJob
    from promptls.rendering.outcome import RenderedPart, RenderFailure, Rendering
    from promptls.rendering.samples import Sample
    from promptls.workspace.snapshot import Snapshot

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
    from promptls.cli.chosen_files import choose_one
    from promptls.rendering.make import limits_for
    from promptls.rendering.once import render_once
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.request import job_for

    if arguments.viewer and arguments.file.endswith(".py"):
        from promptls.cli.render_viewer import view_configuration

        return view_configuration(arguments)
    snapshot, path = choose_one(arguments.file)
    refuse_other_files(snapshot, path)
    if arguments.viewer:
        from promptls.cli.render_viewer import view

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
        from promptls.cli.render_viewer import with_choice

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


def refuse_other_files(snapshot: Snapshot, path: str) -> None:
    """Raises WrongUse for a file that is no prompt."""
    from promptls.meaning.kind import Kind

    if snapshot.kind(path) is Kind.OTHER:
        raise WrongUse(
            "this is no prompt file",
            FilePlace(path),
            "`--viewer` shows a configuration of OpenCompass, and `promptls convert` converts it"
            if path.endswith(".py")
            else "a prompt is a list of parts with `name` and `content`, or a mapping with `instruction`",
        )


def print_failure(failure: RenderFailure, path: str) -> None:
    """Prints why a prompt does not render, with the rendered lines where there are any."""
    message = failure.message.rstrip(".")
    if message.partition(" ")[0][1:].islower():  # a word, and neither `YAML` nor `KeyError:`
        message = message[:1].lower() + message[1:]
    error(message, FilePlace(failure.path or path, failure.line))
    if failure.excerpt:
        print(f"\n  what Jinja made there:\n{_indented(failure.excerpt, 4)}", file=sys.stderr)


def chosen_sample(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> Sample:
    """The data that the arguments choose, or the default sample; raises Failure without it."""
    from promptls.rendering.samples import Sample, row_sample, sample_named, samples_of

    if arguments.data is not None:
        return Sample("--data", "the command line", _given_data(arguments.data))
    if arguments.row is not None:
        return row_sample(snapshot, path, arguments.row)
    if arguments.sample is not None:
        return sample_named(snapshot, path, arguments.sample)
    return samples_of(snapshot, path)[0]


def _given_data(word: str) -> dict[str, Any]:
    import yaml

    place = None
    try:
        if word.lstrip().startswith(("{", "[")):
            data = json.loads(word)
        else:
            from promptls.cli.chosen_files import existing

            place = FilePlace(existing(word))
            text = Path(word).read_text("utf-8-sig")
            data = json.loads(text) if word.endswith(".json") else yaml.safe_load(text)
    except json.JSONDecodeError as wrong:
        if place:
            place = place._replace(line=wrong.lineno - 1, column=wrong.colno - 1)
        said = f"the data is no JSON: {wrong.msg} at column {wrong.colno}"
        raise WrongUse(said, place, 'write {"name": value, …}, or name a file') from None
    except (UnicodeDecodeError, yaml.YAMLError) as wrong:
        raise WrongUse(f"the data cannot be read: {str(wrong).splitlines()[0]}", place) from None
    except RecursionError:
        raise WrongUse("the data is nested too deep to be read", place) from None
    if not isinstance(data, dict):
        raise WrongUse("the data is no mapping of input names to values", place, 'write {"name": value, …}')
    return data


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
    )
    if part.kept:
        print(f"{paint(str(part.name), 'cyan')}{paint(heading, 'dim')}\n{_indented(content, 4)}\n")
    else:
        print(paint(f"{part.name}{heading}\n{_indented(content, 4)}", "dim") + "\n")


def _indented(text: str, by: int) -> str:
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _total(job: RenderJob, rendering: Rendering) -> str:
    total = f"{paint(counted(rendering.tokens, 'token'), 'bold')} in {counted(len(rendering.parts), 'part')}"
    if job.token_limit <= 0:
        return f"{total}, no limit"
    limit = f"the limit of {job.token_limit:,}"
    share = f"{rendering.tokens_kept / job.token_limit:.0%} of {limit}"
    if rendering.tokens_kept == rendering.tokens:
        return f"{total}, {share}"
    return f"{total}, {rendering.tokens_kept:,} of them kept: {share}"
