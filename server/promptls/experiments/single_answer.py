"""Single requests with a rendered prompt; the last answers are stored with the results of runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from promptls.datasets.atomic import replaced
from promptls.experiments.manifest import prompt_stem, results_folder
from promptls.models.keys import key_mask
from promptls.models.model import ModelReference
from promptls.models.opening import open_model
from promptls.models.providers import price_of
from promptls.models.testing import digest_of
from promptls.security.files import read_text
from promptls.text.errors import FilePlace, UserError

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


async def ask_once(
    reference: ModelReference,
    messages: Sequence[Mapping[str, Any]],
    *,
    sample: str,
    parameters: Mapping[str, Any],
    json_schema: Mapping[str, Any] | None,
    timeout: float,
    on_text: Callable[[str], None] | None = None,
) -> SingleAnswer:
    """Request an answer; raises `ModelError`. `on_text` receives chunks of its text as they arrive."""
    model = open_model(reference, timeout=timeout)
    began = time.perf_counter()
    try:
        if on_text is None:
            completion = await model.complete(messages, parameters=parameters, json_schema=json_schema)
        else:
            completion = await model.stream(
                messages, parameters=parameters, json_schema=json_schema, on_text=on_text
            )
    finally:
        await model.close()
    return SingleAnswer(
        sample=sample,
        model=reference.name,
        response=completion.text,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        cost=price_of(reference).cost_of(completion),
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
        return [SingleAnswer(**each) for each in json.loads(read_text(file))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        raise UserError(
            "the stored answers cannot be read", FilePlace(file), "remove the file; no run needs it"
        ) from None


def last_answer(prompt: Path, sample: str) -> SingleAnswer | None:
    """Return the latest stored answer to a prompt with the sample."""
    return next((each for each in reversed(stored_answers(prompt)) if each.sample == sample), None)


def store_answer(prompt: Path, answer: SingleAnswer) -> Path:
    """Store an answer next to the results of the prompt's runs; return the file. Raises `OSError`."""
    file = _file(prompt)
    file.parent.mkdir(parents=True, exist_ok=True)
    answers = [*stored_answers(prompt), answer][-MAX_STORED:]
    text = json.dumps([asdict(each) for each in answers], ensure_ascii=False, indent=1)
    with replaced(file) as stream:
        stream.write(key_mask().mask(text))
    return file


def _file(prompt: Path) -> Path:
    return results_folder(prompt) / _FOLDER / f"{prompt_stem(prompt)}.json"
