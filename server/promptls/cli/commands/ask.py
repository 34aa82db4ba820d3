"""`promptls ask`: a model's answer to a prompt with one sample."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli import permission
from promptls.cli.arguments import (
    add_data_arguments,
    chosen_sample,
    print_data_notes,
    seconds,
    whole_number,
)
from promptls.cli.terminal import indent_text, paint, print_failure, print_json, shown_path
from promptls.models.model import shortcomings
from promptls.security.trust import FolderCode
from promptls.text.format import in_dollars, plural

if TYPE_CHECKING:
    from promptls.experiments.single_answer import AskRequest, SingleAnswer
    from promptls.rendering.outcome import RenderFailure
    from promptls.workspace.snapshot import Snapshot

DESCRIPTION = """\
Render a prompt with a sample, send it to a model and print the answer as it arrives, then its
tokens, cost and time. The data is chosen as in `promptls render`. The model is that of the first
experiment, or the default model of the project.

The answer is stored beside the results of runs; `--compare` prints the last one to the same
sample, too. Models and keys that a project's settings define need your permission, as in
`promptls run`.

examples:
  promptls ask support.yml.j2
  promptls ask support.yml.j2 --sample urgent --model openai:gpt-4o-mini
  promptls ask support.yml.j2 --data '{"text": "Where is my invoice?"}' --compare
  promptls ask support.yml.j2 --row 7 --json | jq -r .response

exit codes: 0 answered, 1 rendering failed or no answer, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, its data, the model and the output's form."""
    parser.add_argument("file", metavar="FILE", help="the prompt file")
    add_data_arguments(parser)
    model = parser.add_argument_group("model")
    model.add_argument("--model", metavar="NAME", help="the model, such as `openai:gpt-4o-mini` or `echo`")
    model.add_argument(
        "--max-tokens", metavar="N", type=whole_number, help="maximum number of tokens of the answer"
    )
    model.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=120.0, help="time for the answer (default: 120)"
    )
    model.add_argument("--yes", action="store_true", help="do not ask before an expensive call")
    permission.add_allow_key(model)
    parser.add_argument("--compare", action="store_true", help="also print the last answer to this sample")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    permission.add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Ask the model; 1 if the prompt does not render."""
    from promptls.cli.chosen_files import choose_one, refuse_other_files
    from promptls.experiments.access import limited_to
    from promptls.experiments.single_answer import ask_once, last_answer, store_answer
    from promptls.lint.runner import explained
    from promptls.rendering.outcome import RenderFailure

    chosen, path = choose_one(arguments.file)
    refuse_other_files(chosen.snapshot, path)
    permission.trust_to_render(chosen, [path], this_time=arguments.trust)
    request = _request(chosen.snapshot, path, arguments)
    if isinstance(request, RenderFailure):
        print_failure(explained(chosen.snapshot, path, request), path)
        return 1
    access = request.access()
    with limited_to([access], arguments.allow_key):
        permission.ask_for_keys(access)
        if not arguments.yes and (question := request.question()) is not None:
            less = "limit the answer: `--max-tokens 200`"
            permission.confirm_spending(question, less, less)
        previous = last_answer(Path(path), request.sample)
        answer = asyncio.run(ask_once(request, None if arguments.json else _show))
    if not arguments.json:
        print("" if answer.response.endswith("\n") else "\n", end="")
    store_answer(Path(path), answer)
    if arguments.json:
        print_json({"path": shown_path(path), **asdict(answer), "previous": previous and asdict(previous)})
        return 0
    print(paint(_summary(answer), "dim"))
    if previous is not None:
        _print_previous(previous, answer, whole=arguments.compare)
    return 0


def _request(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> AskRequest | RenderFailure:
    """Return the request with the rendered prompt; the folder must be trusted if it defines the model."""
    from promptls.experiments.single_answer import ask_request, data_name, messages_of
    from promptls.rendering.make import job_for, limits_for
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import render_once

    sample = chosen_sample(snapshot, path, arguments)
    name = sample.name if arguments.data is None else data_name(sample.data)
    base = Path.cwd() if arguments.model else None
    request = ask_request(snapshot, path, name, model=arguments.model, models_base=base)
    if not arguments.trust and request.is_model_of_folder:
        permission.require_trust(snapshot.roots, lambda: FolderCode(models=(request.model,)))
    job = job_for(snapshot, path, sample.data)
    if job.evaluation is not None:
        job = replace(job, evaluation=replace(job.evaluation, with_labels=True))
    outcome = render_once(job, limits_for(snapshot, path))
    if isinstance(outcome, RenderFailure):
        return outcome
    if arguments.data is not None:
        print_data_notes(snapshot, path, sample)
    elif sample.kind == "placeholders" and sample.data:
        print("note: the prompt has no sample: `--data` replaces the placeholders", file=sys.stderr)
    limit = {} if arguments.max_tokens is None else {"max_tokens": arguments.max_tokens}
    return replace(
        request,
        messages=messages_of(outcome, path),
        input_tokens=outcome.tokens_kept,
        parameters={**request.parameters, **limit},
        timeout=arguments.timeout,
    )


def _show(piece: str) -> None:
    sys.stdout.write(piece)
    sys.stdout.flush()


def _summary(answer: SingleAnswer) -> str:
    pieces = [
        answer.model,
        answer.sample,
        (
            f"{plural(answer.input_tokens or 0, 'input token')}{_part(answer.cached_tokens, 'cached')}, "
            f"{answer.output_tokens or 0:,} output{_part(answer.reasoning_tokens, 'of reasoning')}"
        ),
        f"{answer.seconds:.1f} s",
    ]
    if answer.cost is not None:
        pieces.insert(3, in_dollars(answer.cost) if answer.cost else "free")
    return " · ".join([*pieces, *shortcomings(answer.response, answer.finish_reason)])


def _part(tokens: int | None, what: str) -> str:
    return f" ({tokens:,} {what})" if tokens else ""


def _print_previous(previous: SingleAnswer, answer: SingleAnswer, *, whole: bool) -> None:
    """Print the last answer to the same sample, or whether this one differs from it."""
    if previous.response == answer.response:
        print(paint(f"the same answer as {previous.model} gave at {previous.date}", "dim"))
    elif whole:
        print(f"\n{paint(f'the last answer, by {previous.model} at {previous.date}', 'bold')}")
        print(indent_text(previous.response))
        print(paint(_summary(previous), "dim"))
    else:
        print(paint("differs from the last answer; `--compare` prints it", "dim"))
