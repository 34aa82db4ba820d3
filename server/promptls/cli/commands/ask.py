"""`promptls ask`: a model's answer to a prompt with one sample."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.arguments import seconds, whole_number
from promptls.cli.permission import (
    add_allow_key,
    add_trust_argument,
    ask_for_keys,
    confirm_spending,
    require_trust,
    trust_to_render,
)
from promptls.cli.terminal import indented, paint, print_failure, print_json, shown_path
from promptls.security.trust import FolderCode
from promptls.text.errors import FilePlace, UserError
from promptls.text.format import in_dollars, plural

if TYPE_CHECKING:
    from promptls.experiments.single_answer import SingleAnswer
    from promptls.models.model import ModelReference
    from promptls.rendering.outcome import Rendering
    from promptls.rendering.samples import Sample
    from promptls.workspace.snapshot import Snapshot

SUMMARY = "ask a model with a prompt and one sample"

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
    data = parser.add_argument_group("data").add_mutually_exclusive_group()
    data.add_argument("--sample", metavar="NAME", help="use the sample with this name")
    data.add_argument(
        "--row", metavar="N", type=whole_number, help="use row N, from 1, of the first experiment's dataset"
    )
    data.add_argument("--data", metavar="FILE|JSON", help="inputs: a JSON or YAML file, or JSON text")
    model = parser.add_argument_group("model")
    model.add_argument("--model", metavar="NAME", help="the model, such as `openai:gpt-4o-mini` or `echo`")
    model.add_argument(
        "--max-tokens", metavar="N", type=whole_number, help="maximum number of tokens of the answer"
    )
    model.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=120.0, help="time for the answer (default: 120)"
    )
    model.add_argument("--yes", action="store_true", help="do not ask before an expensive call")
    add_allow_key(model)
    parser.add_argument("--compare", action="store_true", help="also print the last answer to this sample")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Ask the model; 1 if the prompt does not render."""
    from promptls.cli.arguments import chosen_sample
    from promptls.cli.chosen_files import choose_one, refuse_other_files
    from promptls.experiments.access import Access, limited_to
    from promptls.experiments.single_answer import last_answer, store_answer
    from promptls.rendering.make import job_for, limits_for
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import render_once

    chosen, path = choose_one(arguments.file)
    refuse_other_files(chosen.snapshot, path)
    trust_to_render(chosen, [path], this_time=arguments.trust)
    snapshot = chosen.snapshot
    sample = chosen_sample(snapshot, path, arguments)
    reference, parameters, schema = _model(snapshot, path, arguments)
    if not arguments.trust:
        _require_trust(snapshot, path, reference)
    outcome = render_once(job_for(snapshot, path, sample.data), limits_for(snapshot, path))
    if isinstance(outcome, RenderFailure):
        print_failure(outcome, path)
        return 1
    access = Access(snapshot.project(path), (reference,))
    with limited_to([access], arguments.allow_key):
        ask_for_keys(access)
        if not arguments.yes:
            _ask_before_spending(snapshot, path, reference, parameters, outcome)
        previous = last_answer(Path(path), _sample_key(sample, arguments))
        answer = asyncio.run(_asked(reference, outcome, sample, parameters, schema, arguments))
    try:
        store_answer(Path(path), answer)
    except OSError as failure:
        raise UserError(
            f"the answer cannot be stored: {(failure.strerror or str(failure)).lower()}", FilePlace(path)
        ) from None
    if arguments.json:
        print_json({"path": shown_path(path), **asdict(answer), "previous": previous and asdict(previous)})
        return 0
    print(paint(_summary(answer), "dim"))
    if previous is not None:
        _print_previous(previous, answer, whole=arguments.compare)
    return 0


def _model(
    snapshot: Snapshot, path: str, arguments: argparse.Namespace
) -> tuple[ModelReference, dict[str, Any], dict[str, Any] | None]:
    """Return the model, the parameters to send, and the schema of the answer."""
    from promptls.models.opening import find_model

    project = snapshot.project(path)
    template = snapshot.template(path)
    assert template is not None
    header = template.declarations.settings
    experiment = next(iter((header.experiments or {}).values()), None)
    declared = next(iter(experiment.models), None) if experiment is not None and experiment.models else None
    name = arguments.model or declared or project.settings.default_model
    base = Path.cwd() if arguments.model else Path(path).parent
    reference = find_model(name, project.settings.models, base)
    parameters = dict(reference.parameters)
    for key in ("temperature", "max_tokens", "seed"):
        if (value := getattr(experiment, key, None)) is not None:
            parameters[key] = value
    if arguments.max_tokens is not None:
        parameters["max_tokens"] = arguments.max_tokens
    return reference, parameters, getattr(experiment, "json_schema", None) or header.output_schema


def _require_trust(snapshot: Snapshot, path: str, reference: ModelReference) -> None:
    """Raise UsageError if an untrusted folder defines the model, or contains its weights or answers."""
    from promptls.models.local import SUFFIX

    of_folder = (
        reference.name in snapshot.project(path).settings.models
        or reference.provider == "replay"
        or reference.model.lower().endswith(SUFFIX)
    )
    if of_folder:
        require_trust(snapshot.roots, lambda: FolderCode(models=(reference.name,)))


def _ask_before_spending(
    snapshot: Snapshot, path: str, reference: ModelReference, parameters: dict[str, Any], outcome: Rendering
) -> None:
    """Ask if the call may cost more than the settings allow without a question."""
    from promptls.models.providers import price_of

    cost = price_of(reference).cost(outcome.tokens_kept, parameters.get("max_tokens"))
    if cost is not None and cost > snapshot.project(path).settings.ask_above.cost:
        less = "limit the answer: `--max-tokens 200`"
        confirm_spending(f"The call costs about {in_dollars(cost)}. Run it?", less, less)


async def _asked(
    reference: ModelReference,
    outcome: Rendering,
    sample: Sample,
    parameters: dict[str, Any],
    schema: dict[str, Any] | None,
    arguments: argparse.Namespace,
) -> SingleAnswer:
    from promptls.experiments.single_answer import ask_once

    def show(piece: str) -> None:
        sys.stdout.write(piece)
        sys.stdout.flush()

    answer = await ask_once(
        reference,
        outcome.messages,
        sample=_sample_key(sample, arguments),
        parameters=parameters,
        json_schema=schema,
        timeout=arguments.timeout,
        on_text=None if arguments.json else show,
    )
    if not arguments.json:
        print("" if answer.response.endswith("\n") else "\n", end="")
    return replace(answer, input_tokens=answer.input_tokens or outcome.tokens_kept)


def _sample_key(sample: Sample, arguments: argparse.Namespace) -> str:
    """Return the name of the sample; data from the command line is identified by its hash."""
    if arguments.data is None:
        return sample.name
    return f"--data {sha256(json.dumps(sample.data, default=str).encode()).hexdigest()[:8]}"


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
    if answer.finish_reason.lower() in {"length", "max_tokens"}:
        pieces.append("cut off at `max_tokens`")
    return " · ".join(pieces)


def _part(tokens: int | None, what: str) -> str:
    return f" ({tokens:,} {what})" if tokens else ""


def _print_previous(previous: SingleAnswer, answer: SingleAnswer, *, whole: bool) -> None:
    """Print the last answer to the same sample, or whether this one differs from it."""
    if previous.response == answer.response:
        print(paint(f"the same answer as {previous.model} gave at {previous.date}", "dim"))
    elif whole:
        print(f"\n{paint(f'the last answer, by {previous.model} at {previous.date}', 'bold')}")
        print(indented(previous.response))
        print(paint(_summary(previous), "dim"))
    else:
        print(paint("differs from the last answer; `--compare` prints it", "dim"))
