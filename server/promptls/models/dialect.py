"""How servers that speak OpenAI's chat completions protocol differ from OpenAI, and from one another.

Sources: https://learn.microsoft.com/azure/ai-services/openai/reference (the header `api-key`),
https://docs.mistral.ai/api (`random_seed`), https://api-docs.deepseek.com/guides/json_mode (no schemas).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one provider wants otherwise.

    `key_header` carries the key, behind `key_scheme`; `renamed` are parameters that it calls otherwise.
    Without `takes_schemas`, an answer is asked for in JSON where the prompt speaks of JSON, as it demands.
    """

    key_header: str = "Authorization"
    key_scheme: str = "Bearer "
    renamed: Mapping[str, str] = field(default_factory=dict)
    takes_schemas: bool = True

    def headers(self, key: str | None) -> dict[str, str]:
        """The header with the key; none without one."""
        return {self.key_header: f"{self.key_scheme}{key}"} if key else {}

    def parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters by the provider's names."""
        return {self.renamed.get(name, name): value for name, value in parameters.items()}

    def response_format(
        self, schema: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        """What asks for answers that fit the schema; None where the provider can be asked for nothing."""
        if self.takes_schemas:
            return {"type": "json_schema", "json_schema": _schema_form(schema)}
        speaks_of_json = any("json" in str(message.get("content")).lower() for message in messages)
        return {"type": "json_object"} if speaks_of_json else None


# The newer models refuse the older name, and the older ones know the newer.
_COMPLETION_TOKENS: Final = {"max_tokens": "max_completion_tokens"}

PLAIN: Final = Dialect()
OPENAI: Final = Dialect(renamed=_COMPLETION_TOKENS)

# Levels of an error that its words may stand under.
_DEEPEST_WORDS: Final = 6

_OWN: Final[dict[str, Dialect]] = {
    "azure": Dialect("api-key", "", renamed=_COMPLETION_TOKENS),
    "mistral": Dialect(renamed={"seed": "random_seed"}),
    "deepseek": Dialect(takes_schemas=False),
}


def dialect_of(provider: str, host: str | None) -> Dialect:
    """The dialect of a provider; what OpenAI's own models want is for its own `host` alone."""
    if provider == "openai" and host == "api.openai.com":
        return OPENAI
    return _OWN.get(provider, PLAIN)


def error_words(content: bytes) -> str | None:
    """What an error in JSON says in words, in the forms of the providers; None where it says nothing so."""
    try:
        value: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    for _ in range(_DEEPEST_WORDS):
        if isinstance(value, str):
            return value or None
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, Mapping):
            names = ("error", "message", "msg", "detail")
            value = next((value[name] for name in names if value.get(name)), None)
    return value if isinstance(value, str) else None


def _schema_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as the protocol wants it; `strict` where the schema keeps to what that demands."""
    form: dict[str, Any] = {"name": "answer", "schema": dict(schema)}
    return {**form, "strict": True} if _is_strict(schema) else form


def _is_strict(schema: Any) -> bool:
    """Whether every object in the schema names all its keys as required and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        keys = set(properties) if isinstance(properties, Mapping) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != keys:
            return False
    return all(map(_is_strict, schema.values()))
