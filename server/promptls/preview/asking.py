"""Asking a model about what a preview shows: consent, the answer as it arrives, and stored answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

from promptls.experiments import single_answer
from promptls.experiments.client import WorkerProgram, run_in_process
from promptls.experiments.run_protocol import AnswerText, Event, Planned
from promptls.models.editor_model import AskEditor
from promptls.models.model import shortcomings
from promptls.models.testing import digest_of
from promptls.models.weights import LOCAL_MODELS
from promptls.preview import preview_wire
from promptls.preview.preview_answers import Arguments, Render, rendering_to_show
from promptls.preview.preview_result import RenderingChoice, sample_to_show
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.samples import Sample
from promptls.text.errors import FilePlace, UserError, optional
from promptls.workspace.snapshot import Snapshot

Confirm = Callable[[str, str], Awaitable[bool]]
"""Asks the user a question, with the label of the button that agrees."""
ANSWERS: Final = WorkerProgram("promptls.experiments.single_answer", single_answer.AskRequest.access)
"""The program that asks a model about one rendering."""
STOPPED: Final = "Stopped."


def request_about(
    snapshot: Snapshot, path: str, arguments: Arguments, outcome: Rendering | RenderFailure | None
) -> single_answer.AskRequest:
    """Return the request for an answer of `model` to what is shown.

    Raises UserError if the prompt does not render.

    Without an outcome, it has no messages, and only says what the request needs.
    """
    if isinstance(outcome, RenderFailure):
        raise UserError(outcome.message, FilePlace(outcome.path or path, outcome.line))
    choice, model = RenderingChoice.from_json(arguments), optional(arguments, "model", str)
    sample = sample_to_show(snapshot, path, choice)
    return single_answer.ask_request(snapshot, path, _stored_name(choice, sample), outcome, model=model)


async def answer_of(
    request: single_answer.AskRequest,
    on_text: Callable[[str], None],
    confirm: Confirm,
    ask_editor: AskEditor | None = None,
) -> preview_wire.AskResult:
    """Ask the model in a process of its own and store the answer; `on_text` gets its text as it arrives.

    `confirm` is called before an expensive call. Raises UserError if the model does not answer.
    """
    is_refused = False

    def see(event: Event) -> None:
        if isinstance(event, AnswerText):
            on_text(event.text)

    async def may_spend(planned: Planned) -> bool:
        nonlocal is_refused
        is_refused = not await confirm(str(planned.question), "Ask")
        return not is_refused

    try:
        finished = await run_in_process(request, see, may_spend, ask_editor, ANSWERS)
    except BaseException:
        if is_refused:
            return {"answer": None, "message": "Nothing was asked, and nothing was spent."}
        raise
    manifest = finished.manifest
    return {"answer": _wire(manifest["answer"]), "message": manifest["problem"] or ""}


async def answers_of(
    snapshot: Snapshot, path: str, arguments: Arguments, render: Render
) -> preview_wire.AnswersResult:
    """Return the stored answers to what is shown, and the models that can be asked."""
    choice = RenderingChoice.from_json(arguments)
    sample = sample_to_show(snapshot, path, choice)
    outcome = await rendering_to_show(snapshot, path, arguments, render)
    # The answers to data that was saved as a sample later are answers to the sample, too.
    names = {_stored_name(choice, sample), single_answer.data_name(sample.data)}
    return {
        "model": single_answer.default_model(snapshot, path),
        "models": list(_models(snapshot, path)),
        "answers": [
            _wire(asdict(each)) for each in single_answer.stored_answers(Path(path)) if each.sample in names
        ],
        "digest": digest_of(outcome.messages) if isinstance(outcome, Rendering) else "",
    }


def _stored_name(choice: RenderingChoice, sample: Sample) -> str:
    return sample.name if choice.edited is None else single_answer.data_name(sample.data)


def _models(snapshot: Snapshot, path: str) -> Iterator[preview_wire.ModelChoice]:
    """Yield the models of the experiments and of the project, then others that need no settings."""
    template = snapshot.template(path)
    experiments = (template.declarations.settings.experiments if template else None) or {}
    settings = snapshot.project(path).settings
    found = {name: f"of the experiment {each}" for each, key in experiments.items() for name in key.models}
    found = {**found, single_answer.default_model(snapshot, path): "the default"}
    found |= {name: f"{model.provider}: {model.model}" for name, model in settings.models.items()}
    for name in LOCAL_MODELS:
        found.setdefault(f"local:{name}", "on this machine")
    for name in snapshot.editor_models:
        found.setdefault(f"vscode:{name}", "of the editor")
    found.setdefault("echo", "answers with the last message, for tests")
    for name, detail in found.items():
        yield {"name": name, "detail": detail}


def _wire(answer: dict[str, Any]) -> preview_wire.SingleAnswerJson:
    """Return an answer with its keys in camelCase, and with what it lacks in place of its finish reason."""
    names = {"input_tokens": "inputTokens", "output_tokens": "outputTokens"}
    found = {names.get(name, name): value for name, value in answer.items()}
    found["shortcomings"] = shortcomings(answer["response"], found.pop("finish_reason"))
    return cast("preview_wire.SingleAnswerJson", found)
