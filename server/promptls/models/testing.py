"""Models for tests: one that echoes the last message, and one that replays the answers of an earlier run."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptls.models.model import Completion, Messages, ModelError, ModelWithoutResources
from promptls.security.files import open_text

HASH_LENGTH = 16
"""Length of truncated hashes: sufficient to distinguish the rows of a run."""


def digest_of(messages: Messages) -> str:
    """Return the hash of rendered messages."""
    canonical = json.dumps(list(messages), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]


@dataclass(frozen=True, slots=True)
class Echo(ModelWithoutResources):
    """A free model that answers immediately with the last message."""

    name: str = "echo"

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the content of the last message; parameters and schema are ignored."""
        del parameters, json_schema
        text = str(messages[-1].get("content") or "") if messages else ""
        return Completion(
            text, input_tokens=0, output_tokens=0, seconds=0.0, model=self.name, finish_reason="stop"
        )


csv.field_size_limit(2**31 - 1)


class Replay(ModelWithoutResources):
    """Replays recorded answers by their messages; several answers to the same messages are used in turn."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._answers: dict[str, list[Completion]] = defaultdict(list)
        self._used: dict[str, int] = defaultdict(int)
        for digest, completion in _recorded(path, name):
            self._answers[digest].append(completion)

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the recorded answer; raises `ModelError` if there is none for these messages."""
        del parameters, json_schema
        digest = digest_of(messages)
        answers = self._answers.get(digest)
        if not answers:
            raise ModelError(
                f"`{self._path.name}` has no answer to this prompt",
                "the prompt has changed since the answers were recorded: run it with the model itself",
            )
        position = self._used[digest]
        self._used[digest] += 1
        return answers[position % len(answers)]


def check_recording(path: Path) -> None:
    """Raise `ModelError` if there is no recording at `path`."""
    if not path.is_file():
        raise ModelError(
            f"there is no file `{path}` to replay", "name the table of a run, or a `.jsonl` file"
        )
    if path.suffix.lower() not in {".csv", ".jsonl"}:
        raise ModelError(f"`{path.name}` cannot be replayed", "name a `.csv` or a `.jsonl` file")


def _recorded(path: Path, name: str) -> Iterable[tuple[str, Completion]]:
    check_recording(path)
    try:
        with open_text(path) as stream:
            lines: Iterable[Mapping[str, Any]]
            if path.suffix.lower() == ".csv":
                lines = csv.DictReader(stream)
            else:
                lines = (json.loads(line) for line in stream if line.strip())
            yield from _answers(lines, name)
    except (OSError, ValueError, csv.Error, AttributeError) as error:
        raise ModelError(f"`{path.name}` cannot be replayed: {error}", "name the table of a run") from None


def _answers(lines: Iterable[Mapping[str, Any]], name: str) -> Iterable[tuple[str, Completion]]:
    for line in lines:
        messages = line.get("messages")
        digest = digest_of(messages) if isinstance(messages, list) else line.get("rendered_hash")
        response = line.get("response")
        if not digest or line.get("error") or response is None:
            continue
        yield (
            str(digest),
            Completion(
                text=response if isinstance(response, str) else json.dumps(response, ensure_ascii=False),
                input_tokens=_whole(line.get("input_tokens")),
                output_tokens=_whole(line.get("output_tokens")),
                seconds=float(line.get("seconds") or 0.0),
                model=name,
                finish_reason=str(line.get("finish_reason") or "stop"),
            ),
        )


def _whole(value: Any) -> int | None:
    return int(value) if value not in {None, ""} else None
