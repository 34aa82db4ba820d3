"""`promptls tokens`: count the tokens of prompts, part by part."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.cli.permission import add_trust_argument, trust_to_render
from promptls.cli.terminal import Column, TableRow, print_failure, print_json, shown_path, table
from promptls.text.errors import UsageError
from promptls.text.format import in_code, in_dollars, plural

if TYPE_CHECKING:
    from promptls.cli.chosen_files import ChosenFiles
    from promptls.ide.preview_parts import TokenReport
    from promptls.models.model import ModelReference
    from promptls.rendering.file_rendering import FileRendering, TokenRange
    from promptls.workspace.snapshot import Snapshot

_ONE_PERCENT: Final = 0.01

DESCRIPTION = """\
Render prompts with their first sample and count the exact tokens of each part, in the encoding
of the header or the project, or of a model. If the tokenizer of a model is not public, the
nearest one is used and the numbers are marked with ≈. For the rows of the first experiment's
dataset, the fewest, the usual (median) and the most tokens are shown. Folders are searched for
prompts; sections are counted in the files that include them. Functions files are run, so their
folder must be trusted; on a terminal, you are asked once.

examples:
  promptls tokens support.yml.j2
  promptls tokens prompts/ --json
  promptls tokens prompts/ --model openai:gpt-4o
  promptls tokens prompts/ --encoding cl100k_base --no-rows

exit codes: 0 counted, 1 a prompt does not render or is over its limit, 2 usage error"""


class Counted(NamedTuple):
    """A prompt with its token report, which is None if it does not render."""

    made: FileRendering
    report: TokenReport | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the paths, the encoding or model and the output format."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders (default: current folder)"
    )
    parser.add_argument("--encoding", metavar="NAME", help="encoding, or model whose encoding to use")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="model whose encoding, context window and price to use (default: the file's)",
    )
    parser.add_argument("--no-rows", action="store_true", help="skip the rows of datasets")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Count every chosen prompt; return 1 if one does not render, or exceeds its limit."""
    from promptls.cli.chosen_files import choose

    chosen = choose(arguments.paths)
    paths = list(counted_paths(chosen))
    trust_to_render(chosen, paths, this_time=arguments.trust)
    prompts = asyncio.run(
        count_prompts(
            chosen.snapshot,
            paths,
            model_name=arguments.model,
            encoding=arguments.encoding,
            has_rows=not arguments.no_rows,
        )
    )
    if arguments.json:
        print_json([counted_json(prompt) for prompt in prompts])
    else:
        _print(prompts)
    return int(any(map(_is_wrong, prompts)))


def counted_paths(chosen: ChosenFiles) -> Iterator[str]:
    """Yield the prompts among the chosen files; raises UsageError for a named file that is none."""
    from promptls.cli.chosen_files import refuse_other_files
    from promptls.semantic.kind import Kind

    for path in chosen.all():
        if path in chosen.named:
            refuse_other_files(chosen.snapshot, path)
        elif chosen.snapshot.kind(path) not in {Kind.PARTS, Kind.OBJECT}:
            continue
        yield path


async def count_prompts(
    snapshot: Snapshot,
    paths: Sequence[str],
    *,
    model_name: str | None,
    encoding: str | None = None,
    has_rows: bool = True,
) -> list[Counted]:
    """Render and count every prompt; raises UsageError for an unknown model or encoding."""
    from promptls.ide.preview_parts import encoding_of, model_of, token_report
    from promptls.models.model_names import find_model
    from promptls.rendering.make import limits_for, render_file, weigh
    from promptls.rendering.worker import RenderWorkers

    found = []
    async with RenderWorkers() as workers:
        for path in paths:
            model: ModelReference | None
            if model_name:
                model = find_model(model_name, snapshot.project(path).settings.models)
            else:
                model = model_of(snapshot, path)
            chosen = _check(encoding) if encoding else None
            if chosen is None and model_name and model:
                chosen = encoding_of(model)
            worker = workers.within(limits_for(snapshot, path))
            made = await render_file(worker, snapshot, path, encoding=chosen)
            if has_rows:
                made = await weigh(worker, snapshot, made)
            found.append(Counted(made, token_report(snapshot, made, model)))
    return found


def _check(encoding: str) -> str:
    """Return the encoding or model to count with; raises UsageError for an unknown one."""
    from promptls.tokens import ENCODING_NAMES, UnknownEncodingError, encoding_name, is_approximate

    try:
        return encoding if is_approximate(encoding) else encoding_name(encoding)
    except UnknownEncodingError as unknown:
        remedy = (
            f"did you mean `{unknown.nearest}`? encodings are {in_code(ENCODING_NAMES)}, and models have one"
        )
        raise UsageError(f"there is no encoding `{encoding}`", remedy=remedy) from None


def _is_wrong(prompt: Counted) -> bool:
    rendering = prompt.made.rendering
    return rendering is None or bool(rendering.problems)


def _print(prompts: Sequence[Counted]) -> None:
    has_rows = any(prompt.made.rows for prompt in prompts)
    has_model = any(prompt.report and (prompt.report.window or prompt.report.cost) for prompt in prompts)
    names = ["tokens", *(["min", "median", "max"] if has_rows else []), "share"]
    names += ["of window", "cost"] if has_model else []
    columns = [Column("prompt"), Column("sample, role"), *(Column(name, "right") for name in names)]
    rows = [row for prompt in prompts for row in _rows(prompt, has_rows=has_rows, has_model=has_model)]
    if rows:
        print(table(columns, rows))
        print()
    for prompt in prompts:
        failure, rendering = prompt.made.failure, prompt.made.rendering
        for each in (failure,) if failure else rendering.problems if rendering else ():
            print_failure(each, prompt.made.job.path)
    _print_total(prompts)


def _print_total(prompts: Sequence[Counted]) -> None:
    done = [prompt for prompt in prompts if prompt.report]
    if not prompts:
        print("There is no prompt here.")
        return
    mark = "≈ " if any(prompt.made.is_approximate for prompt in done) else ""
    total = plural(sum(prompt.report.total for prompt in done if prompt.report), "token")
    print(f"{mark}{total} in {plural(len(done), 'prompt')}.")
    models = dict.fromkeys(str(each.report.model) for each in done if each.report and each.report.window)
    if models:
        print(f"The window and the price are those of {', '.join(f'`{name}`' for name in models)}.")


def _rows(prompt: Counted, *, has_rows: bool, has_model: bool) -> Iterator[TableRow]:
    made, report = prompt
    rendering = made.rendering
    path = shown_path(made.job.path)
    blank = [""] * (3 * has_rows)
    if rendering is None or report is None:
        yield TableRow((path, "", "", *blank, "does not render", *([""] * (2 * has_model))), "red")
        return
    mark = "≈ " if made.is_approximate else ""
    total = made.rows.total if made.rows else None
    last = (_percent(report.total, report.window), _dollars(report.cost)) if has_model else ()
    cells = (f"{mark}{report.total:,}", *_range(total, has_rows=has_rows), _share(made), *last)
    yield TableRow((path, f"`{made.sample.name}`", *cells), "red" if rendering.problems else "bold")
    for part, its in zip(rendering.parts, report.ranges, strict=True):
        cells = (
            f"{part.tokens:,}",
            *_range(its, has_rows=has_rows),
            _percent(part.tokens, rendering.tokens),
            *([""] * (2 * has_model)),
        )
        yield TableRow((f"  {part.name}", str(part.role), *cells))
        for section in part.sections:
            padding = [""] * (len(cells) - 1)
            yield TableRow((f"    {section.name}", "section", f"{section.tokens:,}", *padding), "dim")


def _range(its: TokenRange | None, *, has_rows: bool) -> tuple[str, ...]:
    if not has_rows:
        return ()
    return ("", "", "") if its is None else tuple(f"{number:,}" for number in its)


def _percent(part: int, whole: int | None) -> str:
    if not whole:
        return ""
    share = part / whole
    return f"{share:.2%}" if 0 < share < _ONE_PERCENT else f"{share:.0%}"


def _dollars(cost: float | None) -> str:
    if cost is None:
        return ""
    return "free" if cost == 0 else in_dollars(cost)


def _share(made: FileRendering) -> str:
    rendering, limit = made.rendering, made.token_limit
    return f"{rendering.tokens / limit:.0%} of {limit:,}" if rendering and limit else "no limit"


def counted_json(prompt: Counted) -> dict[str, Any]:
    """Return the counts of a prompt, or why it does not render."""
    from promptls.ide.preview_parts import report_json

    made, report = prompt
    heading: dict[str, Any] = {
        "path": shown_path(made.job.path),
        "sample": made.sample.name,
        "encoding": made.job.encoding,
    }
    if made.failure is not None:
        return {**heading, **made.failure.to_json()}
    assert made.rendering is not None
    assert report is not None
    problems = [problem.message for problem in made.rendering.problems]
    found = report_json(made, report)
    return {
        **heading,
        "tokens": found.pop("total"),
        "token_limit": found.pop("limit"),
        **found,
        "problems": problems,
    }
