"""Single requests with a rendered prompt; the last answers are stored with the results of runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from promptls.experiments.access import Access
from promptls.experiments.manifest import prompt_stem, results_folder
from promptls.experiments.process import MayGo, Notify
from promptls.experiments.run_protocol import AnswerText, Finished, Planned, to_json
from promptls.models.masking import key_mask
from promptls.models.model import Messages, ModelReference
from promptls.models.model_names import find_model
from promptls.models.opening import open_model
from promptls.models.providers import cost_of, price_of
from promptls.models.testing import digest_of
from promptls.models.weights import SUFFIX
from promptls.rendering.outcome import Rendering
from promptls.security.files import read_text
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UsageError, UserError, parse_json
from promptls.text.format import in_dollars
from promptls.workspace.settings import find_project
from promptls.workspace.snapshot import Snapshot

MAX_STORED: Final = 20
"""Number of stored answers per prompt."""
_FOLDER: Final = "answers"


@dataclass(frozen=True, slots=True)
class SingleAnswer:
    """An answer to a prompt with a sample. `cost` is in US dollars, None if the price is unknown."""

    sample: str
    model: str
    response: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    seconds: float
    finish_reason: str
    digest: str
    """The hash of the messages that were sent."""
    date: str
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A request for one answer to the `messages` of a rendered prompt, of a process of its own if need be.

    `sample` identifies the data that the prompt was rendered with. A model's file is relative to
    `models_base`. The other fields are those of `RunRequest`.
    """

    prompt: str
    model: str
    sample: str
    models_base: str
    messages: Messages = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    json_schema: Mapping[str, Any] | None = None
    input_tokens: int = 0
    timeout: float = 120.0
    yes: bool = False
    only_plan: bool = False
    editor: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def reference(self) -> ModelReference:
        """The model; raises UsageError if there is none with this name."""
        settings = find_project(Path(self.prompt)).settings
        return find_model(self.model, settings.models, Path(self.models_base))

    @property
    def is_model_of_folder(self) -> bool:
        """Whether the folder defines the model, or contains its weights or answers."""
        reference = self.reference
        return (
            reference.name in find_project(Path(self.prompt)).settings.models
            or reference.provider == "replay"
            or reference.model.lower().endswith(SUFFIX)
        )

    def access(self) -> Access:
        """Return the variables that the request needs and the server it is sent to."""
        return Access(find_project(Path(self.prompt)), (self.reference,))

    def question(self) -> str | None:
        """Return the question to ask before a call that may cost more than the settings allow without."""
        cost = price_of(self.reference).cost(self.input_tokens, self.parameters.get("max_tokens"))
        if cost is None or cost <= find_project(Path(self.prompt)).settings.ask_above.cost:
            return None
        return f"The call costs about {in_dollars(cost)}. Run it?"


def ask_request(
    snapshot: Snapshot,
    path: str,
    sample: str,
    rendering: Rendering | None = None,
    *,
    model: str | None = None,
    models_base: Path | None = None,
) -> AskRequest:
    """Return the request for an answer to a rendering; raises UsageError for an unknown model.

    The model, parameters and schema are by default those of the file's first experiment.
    """
    template = snapshot.template(path)
    assert template is not None
    header = template.declarations.settings
    experiment = next(iter(header.experiments.values()), None)
    name = model or default_model(snapshot, path)
    project = snapshot.project(path)
    of_project = name in project.settings.models
    base = project.root if of_project else models_base or Path(path).parent
    parameters = dict(find_model(name, project.settings.models, base).parameters)
    for key in ("temperature", "max_tokens", "seed"):
        if (value := getattr(experiment, key, None)) is not None:
            parameters[key] = value
    return AskRequest(
        prompt=path,
        model=name,
        sample=sample,
        models_base=str(base),
        messages=messages_of(rendering, path) if rendering else (),
        parameters=parameters,
        json_schema=getattr(experiment, "json_schema", None) or header.output_schema,
        input_tokens=rendering.tokens_kept if rendering else 0,
    )


def messages_of(rendering: Rendering, path: str) -> Messages:
    """Return what to ask about a rendering: its messages or, if the job requested them, its labels.

    Raises UsageError if there is neither.
    """
    if not (messages := rendering.labels or rendering.messages):
        raise UsageError(
            "the prompt has no message to ask about: it compares labels",
            FilePlace(path),
            f"`promptls ask {Path(path).name}` asks for the label",
        )
    return messages


def default_model(snapshot: Snapshot, path: str) -> str:
    """Return the model of the file's first experiment, or the default model of the project."""
    template = snapshot.template(path)
    experiments = (template.declarations.settings.experiments if template else None) or {}
    first = next(iter(experiments.values()), None)
    return first.models[0] if first and first.models else snapshot.project(path).settings.default_model


def data_name(data: Mapping[str, Any]) -> str:
    """Return the name under which answers to data without a name are stored."""
    return f"--data {sha256(json.dumps(data, default=str).encode()).hexdigest()[:8]}"


async def ask_once(request: AskRequest, on_text: Callable[[str], None] | None) -> SingleAnswer:
    """Request an answer; raises `ModelError`. `on_text` receives chunks of its text as they arrive."""
    reference, messages = request.reference, request.messages
    parameters, schema = request.parameters, request.json_schema
    model = open_model(reference, timeout=request.timeout)
    began = time.perf_counter()
    try:
        if on_text is None:
            completion = await model.complete(messages, parameters=parameters, json_schema=schema)
        else:
            completion = await model.stream(
                messages, parameters=parameters, json_schema=schema, on_text=on_text
            )
    finally:
        await model.close()
    return SingleAnswer(
        sample=request.sample,
        model=reference.name,
        response=completion.text,
        input_tokens=completion.input_tokens or request.input_tokens,
        output_tokens=completion.output_tokens,
        cost=cost_of(completion, price_of(reference)),
        seconds=round(completion.seconds or time.perf_counter() - began, 3),
        finish_reason=completion.finish_reason,
        cached_tokens=completion.cached_tokens,
        reasoning_tokens=completion.reasoning_tokens,
        digest=digest_of(messages),
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def stored_answers(prompt: Path) -> list[SingleAnswer]:
    """Return the stored answers of a prompt, latest last. Raises `UserError` if they cannot be read."""
    file = _file(prompt)
    try:
        return [SingleAnswer(**each) for each in parse_json(read_text(file))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        raise UserError(
            "the stored answers cannot be read", FilePlace(file), "remove the file; no run needs it"
        ) from None


def last_answer(prompt: Path, sample: str) -> SingleAnswer | None:
    """Return the latest stored answer to a prompt with the sample."""
    return next((each for each in reversed(stored_answers(prompt)) if each.sample == sample), None)


def store_answer(prompt: Path, answer: SingleAnswer) -> None:
    """Store an answer next to the results of the prompt's runs. Raises `UserError` if that fails."""
    file = _file(prompt)
    answers = [*stored_answers(prompt), answer][-MAX_STORED:]
    text = json.dumps([asdict(each) for each in answers], ensure_ascii=False, indent=1)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as stream:
            stream.write(key_mask().mask(text))
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise UserError(f"the answer cannot be stored: {reason}", FilePlace(file)) from None


def _file(prompt: Path) -> Path:
    return results_folder(prompt) / _FOLDER / f"{prompt_stem(prompt)}.json"


async def _ask(request: AskRequest, notify: Notify, may_go: MayGo) -> None:
    """Ask the model in this process, and report the answer, and why it is not stored, as a manifest."""
    if (question := request.question()) is not None:
        planned = Planned("", 1, calls=1, tokens=request.input_tokens, question=question)
        if not await may_go(planned):
            return
    answer = await ask_once(request, lambda text: notify(to_json(AnswerText(text))))
    problem = None
    try:
        store_answer(Path(request.prompt), answer)
    except UserError as failure:
        problem = failure.message
    notify(to_json(Finished("", "", {"answer": asdict(answer), "problem": problem})))


if __name__ == "__main__":
    from promptls.experiments.process import leave, main

    leave(main(AskRequest, AskRequest.access, _ask))
