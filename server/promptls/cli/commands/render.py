"""`promptls render`: a rendered prompt as parts, text or messages."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.arguments import (
    add_data_arguments,
    add_limit_arguments,
    chosen_sample,
    print_data_notes,
    whole_number,
)
from promptls.cli.permission import add_trust_argument, trust_to_render
from promptls.cli.safe_stream import write_document
from promptls.cli.terminal import indent_text, paint, print_failure, print_json, printed_path, shown_path
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code, plural
from promptls.tokens.tokenizer_files import encoding_title

if TYPE_CHECKING:
    from promptls.programs.templates import ProgramTemplate
    from promptls.rendering.job import RenderJob
    from promptls.rendering.outcome import RenderedPart, Rendering
    from promptls.rendering.samples import Sample
    from promptls.workspace.snapshot import Snapshot


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
  promptls render app.py                       the templates that a program gives to Prompt Poet
  promptls render mmlu.yml.j2 --viewer --rows 3 --meta-template chat
  promptls render mmlu_ppl.py --viewer --dataset lukaemon_mmlu_anatomy

exit codes: 0 rendered, 1 rendering failed, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, its data, its limit and the output format."""
    parser.add_argument("file", metavar="FILE", help="the prompt file, or a program")
    add_data_arguments(parser)
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
    add_limit_arguments(parser)
    form = parser.add_argument_group("output").add_mutually_exclusive_group()
    form.add_argument("--string", action="store_true", help="print only the prompt, as one text")
    form.add_argument("--messages", action="store_true", help="print the messages as JSON")
    form.add_argument("--json", action="store_true", help="print the complete rendering as JSON")
    add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Render and print; return 1 if the prompt cannot be rendered, counted or truncated."""
    from promptls.cli.chosen_files import choose_one, refuse_other_files

    if arguments.viewer and arguments.file.endswith(".py"):
        return view_configuration(arguments)
    chosen, path = choose_one(arguments.file)
    is_program = path.endswith(".py")
    if not is_program:
        refuse_other_files(chosen.snapshot, path)
    trust_to_render(chosen, [path], this_time=arguments.trust)
    snapshot = chosen.snapshot
    if is_program:
        from promptls.programs.templates import templates_of_program

        templates = templates_of_program(snapshot, path)
        if not templates:
            raise UsageError(
                "the program contains no template",
                FilePlace(path),
                "pass a `raw_template` to `Prompt`; `--viewer` shows a configuration of OpenCompass, and "
                "`promptls convert` converts it",
            )
        return max(_render(each.snapshot, each.path, arguments, each) for each in templates)
    if arguments.viewer:
        return view(snapshot, path, arguments)
    return _render(snapshot, path, arguments)


def _render(
    snapshot: Snapshot, path: str, arguments: argparse.Namespace, template: ProgramTemplate | None = None
) -> int:
    """Render the file at `path`, which may be a `template` of a program, and print it."""
    from promptls.rendering.make import job_for, limits_for
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import render_once

    sample = chosen_sample(snapshot, path, arguments)
    if template is not None:
        sample = template.sample(sample)
    job = job_for(
        snapshot,
        path,
        sample.data,
        token_limit=arguments.limit,
        truncation_step=arguments.step,
        with_stand_ins=True,
    )
    if job.evaluation is not None:
        job = with_choice(job, arguments)
    outcome = render_once(job, limits_for(snapshot, path))
    if isinstance(outcome, RenderFailure):
        from promptls.lint.runner import explained

        outcome = explained(snapshot, path, outcome)
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
    if arguments.data is not None and template is None:
        print_data_notes(snapshot, path, sample)
    for problem in outcome.problems:
        print_failure(problem, path)
    return int(bool(outcome.problems))


def _print_notes(job: RenderJob, rendering: Rendering) -> None:
    """Print the known differences between this rendering and the prompt in production."""
    if job.stand_ins:
        print(f"note: nothing provides {in_code(job.stand_ins)}, so stand-ins were called", file=sys.stderr)
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
    heading = f"{paint(printed_path(job.path), 'bold')} with `{sample.name}` ({sample.source})"
    print(f"{heading}, {encoding_title(job.encoding)}\n")
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
        print(f"{paint(str(part.name), 'cyan')}{paint(heading, 'dim')}\n{indent_text(content)}\n")
    else:
        print(paint(f"{part.name}{heading}\n{indent_text(content)}", "dim") + "\n")


def _total(job: RenderJob, rendering: Rendering) -> str:
    total = f"{paint(plural(rendering.tokens, 'token'), 'bold')} in {plural(len(rendering.parts), 'part')}"
    if job.token_limit <= 0:
        return f"{total}, no limit"
    limit = f"the limit of {job.token_limit:,}"
    share = f"{rendering.tokens_kept / job.token_limit:.0%} of {limit}"
    if rendering.tokens_kept == rendering.tokens:
        return f"{total}, {share}"
    return f"{total}, {rendering.tokens_kept:,} of them kept: {share}"


_ENDING: Final = ".yml.j2"


def view(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> int:
    """Print the prompts of the chosen rows; return 1 if one of them cannot be created."""
    from promptls.rendering.make import limits_for
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import render_once

    job = viewer_job(snapshot, path, arguments)
    outcome = render_once(job, limits_for(snapshot, path))
    if isinstance(outcome, RenderFailure):
        if path.endswith(f".py{_ENDING}"):
            # The lines refer to the converted text, which is not shown.
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
    print("\n".join(_viewer_lines(path, job.encoding, viewer)))
    if not viewer["rows"] and arguments.data is None:
        template = snapshot.template(path)
        named = template is not None and "path" in template.declarations.data
        why = (
            "`path` names no file here" if named else "name a file with `path`, or an experiment's `dataset`"
        )
        print(f"note: the values are made up, as there are no rows: {why}", file=sys.stderr)
    for problem in outcome.problems:
        print_failure(problem, path)
    rest = viewer["selected"] - len(viewer["all"])
    if rest > 0 and arguments.row is None and arguments.rows is None:
        print(f"note: {plural(rest, 'more row')}; `--rows N` and `--all` show them", file=sys.stderr)
    return int(failed)


def view_configuration(arguments: argparse.Namespace) -> int:
    """Do the same for a dataset of a configuration in Python, which is parsed but not run."""
    from promptls.cli.chosen_files import choose_text, existing
    from promptls.convert.formats import convert
    from promptls.workspace.configuration_files import ConfigurationFiles

    file = existing(arguments.file)
    made = convert(
        file.read_text("utf-8-sig"),
        str(file),
        "opencompass",
        "evaluation",
        dataset=arguments.dataset,
        files=ConfigurationFiles(str(file)),
    )
    chosen = choose_text(f"{file}{_ENDING}", made.text)
    trust_to_render(chosen, chosen.named, this_time=arguments.trust)
    code = view(chosen.snapshot, chosen.named[0], arguments)
    for each in made.lost:
        print(f"note: {each}", file=sys.stderr)
    return code


def viewer_job(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> RenderJob:
    """Return the job for the rows that the arguments select; raises UsageError for other kinds of files."""
    from promptls.rendering.make import job_for
    from promptls.rendering.samples import evaluation_job
    from promptls.semantic.kind import Kind

    if snapshot.kind(path) is not Kind.EVALUATION:
        raise UsageError(
            "the viewer is for evaluation prompts only",
            FilePlace(path),
            "leave `--viewer` out, or give the prompt an `infer_cfg`",
        )
    rows = 0 if arguments.all else arguments.rows or 1
    evaluation = evaluation_job(
        snapshot, path, row=arguments.row, rows=rows, meta_template=arguments.meta_template
    )
    data: Mapping[str, Any] = {}
    if arguments.data is not None or (evaluation.data.test is None and not evaluation.data.examples):
        # Without rows, fields are shown with values from the arguments, or else made-up ones.
        data, evaluation = chosen_sample(snapshot, path, arguments).data, replace(evaluation, row=None)
    job = job_for(snapshot, path, data, token_limit=arguments.limit, with_stand_ins=True)
    return replace(job, evaluation=evaluation)


def with_choice(job: RenderJob, arguments: argparse.Namespace) -> RenderJob:
    """Return the job of an evaluation prompt with the row and the meta template from the arguments."""
    assert job.evaluation is not None
    chosen = replace(job.evaluation, row=arguments.row, meta_template=arguments.meta_template)
    return replace(job, evaluation=chosen)


def _viewer_lines(path: str, encoding: str, viewer: dict[str, Any]) -> Iterator[str]:
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
        yield _row_heading(row, viewer["rows"])
        if row.get("failure"):
            yield f"    {paint('failed', 'red')}: {row['failure']}"
        for example in row["examples"]:
            yield f"  {paint('example', 'cyan')} {paint(_example_summary(example), 'dim')}"
            yield indent_text(example["text"])
        for example in row["dropped"]:
            where = "" if example["label"] is None else f" from label {example['label']} on"
            summary = f"{_example_summary(example)} · does not fit{where}"
            yield f"  {paint('dropped', 'yellow')} {paint(summary, 'dim')}"
            yield paint(indent_text(example["text"]), "dim")
        for prompt in row["prompts"]:
            name = "prompt" if prompt["label"] is None else f"label {prompt['label']}"
            shown = f"· {plural(prompt['tokens'], 'token')}"
            yield f"  {paint(name, 'cyan')} {paint(shown, 'dim')}"
            if "text" in prompt:
                yield indent_text(prompt["text"])
            for message in prompt.get("messages", ()):
                yield f"    {paint(str(message.get('role')), 'dim')}"
                yield indent_text(str(message.get("content", "")), 6)


def _row_heading(row: dict[str, Any], rows: int) -> str:
    number = f"row {row['row']}" + (f" of {rows}" if rows else "")
    chosen = len(row["examples"]) + len(row["dropped"])
    dropped = f", {len(row['dropped'])} of {plural(chosen, 'example')} left out" if row["dropped"] else ""
    return f"{paint(number, 'bold')}{dropped}"


def _example_summary(example: dict[str, Any]) -> str:
    return f"· training row {example['row']} · {plural(example['tokens'], 'token')}"
