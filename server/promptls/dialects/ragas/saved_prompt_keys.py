"""The keys of the files that Ragas saves since 0.2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from promptls.dialects import KeyFact, optional, required_key, table
from promptls.dialects.ragas.saved_prompt import Form

_FORMAT: Final = required_key("format_version", "text", "`1.0`.")
_MODEL: Final = optional(
    "response_model_info",
    "mapping",
    "Model of the answer: class, module and JSON Schema. It is not loaded from here: pass the class "
    "when you load the file.",
)
_EXAMPLE: Final = table(
    required_key("input", "mapping", "The inputs of the example."),
    required_key("output", "mapping", "The answer of the example."),
)
_WITH_MODELS: Final = table(
    required_key(
        "ragas_version", "text", "Ragas version that saved the file. Other versions warn when they load it."
    ),
    optional(
        "original_hash",
        "integer",
        "Hash of the class when the prompt was saved. Ragas warns if it differs from the hash of the "
        "current class. It has up to 19 digits, which JavaScript rounds.",
    ),
    required_key("language", "text", "Language of the examples. The file name ends with it."),
    required_key(
        "instruction",
        "text",
        "The task, followed by the schema of the answer, the examples and the input. Braces are text.",
    ),
    required_key(
        "examples", "list of mappings", "Each has `input` and `output`, shown to the model as JSON."
    ),
)
_SIMPLE: Final = table(
    _FORMAT,
    required_key(
        "type", "text", "`Prompt`, or `DynamicFewShotPrompt`, which shows examples similar to the input."
    ),
    required_key("instruction", "text", "The task. `{name}` is an input; double a brace to use it as text."),
    optional(
        "examples",
        "list of mappings",
        "Each has `input` and `output`. They follow the instruction, line by line.",
    ),
    _MODEL,
    optional(
        "max_similar_examples",
        "integer",
        "Maximum number of examples. Without an embedding model, the last ones are used. Default: 3.",
    ),
    optional(
        "similarity_threshold", "number", "Minimum similarity of an example to the input. Default: 0.7."
    ),
    optional(
        "embedding_model_info",
        "mapping",
        "Class of the embedding model. Pass the model when you load the file.",
    ),
    optional("embeddings", "list", "Vectors of the examples, in the same order."),
)
_METRIC: Final = table(
    _FORMAT,
    required_key(
        "metric_type",
        "text",
        "`DiscreteMetric`, `NumericMetric` or `RankingMetric`. Only this class can load the file.",
    ),
    required_key("name", "text", "Name of the metric."),
    required_key(
        "prompt", "mapping", "Prompt for the judge: a simple prompt whose fields are the metric's inputs."
    ),
    required_key("config", "mapping", "Settings of the metric."),
    _MODEL,
)
_CONFIG: Final = table(
    required_key(
        "allowed_values",
        "list or integer",
        "Allowed scores: a list of texts for a discrete metric, minimum and maximum for a numeric "
        "metric, or the length of the ranking for a ranking metric.",
    ),
)
_RESPONSE_MODEL: Final = table(
    required_key("class_name", "text", "Class of the model."),
    required_key("module", "text", "Module of the class."),
    required_key("schema", "mapping", "JSON Schema of the answer."),
    optional("note", "text", "Note for whoever loads the file."),
)
_TABLES: Final[Mapping[Form, Mapping[tuple[str, ...], Mapping[str, KeyFact]]]] = {
    "pydantic prompt": {(): _WITH_MODELS, ("examples", "-"): _EXAMPLE},
    "simple prompt": {(): _SIMPLE, ("examples", "-"): _EXAMPLE, ("response_model_info",): _RESPONSE_MODEL},
    "metric": {
        (): _METRIC,
        ("prompt",): _SIMPLE,
        ("prompt", "examples", "-"): _EXAMPLE,
        ("config",): _CONFIG,
        ("response_model_info",): _RESPONSE_MODEL,
    },
}


def saved_key(form: Form, keys: tuple[str, ...]) -> KeyFact | None:
    """Return the facts about the key at the path `keys`, with `-` for the items of lists."""
    return saved_keys(form, keys[:-1]).get(keys[-1]) if keys else None


def saved_keys(form: Form, path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    """Return the keys of the mapping at `path`; empty if they are user-defined."""
    return _TABLES[form].get(path, {})


@lru_cache
def has_keys_below(form: Form, path: tuple[str, ...]) -> bool:
    """Return whether there are keys, other than user-defined ones, at or below `path`."""
    return any(known[: len(path)] == path for known in _TABLES[form])
