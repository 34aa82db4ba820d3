"""Whether an answer is what the prompt says that it is to be: JSON, and held to its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from promptls.semantic.types.schemas import RUN_SECONDS, SchemaCheck


class AnswerCheck:
    """Looks at the answers of one experiment."""

    def __init__(self, *, is_json: bool, schema: Mapping[str, Any] | None) -> None:
        self._is_json = is_json or schema is not None
        self._schema = SchemaCheck(schema, RUN_SECONDS) if schema is not None else None

    def problem(self, answer: str) -> str | None:
        """Return what is wrong with the answer, in words; None if nothing is, or nothing is demanded."""
        if not self._is_json:
            return None
        try:
            value = json.loads(answer)
        except RecursionError:
            return "no JSON that can be read: it is nested too deeply"
        except ValueError as error:
            return _no_json(answer, error)
        if self._schema is None:
            return None
        return self._schema.problem(value) or None


def _no_json(answer: str, error: ValueError) -> str:
    text = answer.strip()
    if not text:
        return "no JSON: the answer is empty"
    if text.startswith("```"):
        return "no JSON: the answer stands in a code fence"
    place = error.pos if isinstance(error, json.JSONDecodeError) else 0
    if place >= len(answer.rstrip()):
        return "no JSON: the answer breaks off; a larger `max_tokens` may help"
    if place == 0:
        return f"no JSON: the answer begins with “{text[:40]}”"
    words = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return f"no JSON: {words[:1].lower()}{words[1:]} at character {place + 1}"
