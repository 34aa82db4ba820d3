"""The keys of the files that Ragas saves since 0.2, with what Ragas does with each. Plain tables.

Source: `ragas/prompt/` and `ragas/metrics/base.py` of Ragas 0.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from promptls.systems.key_fact import KeyFact, needed, optional, table
from promptls.systems.ragas.saved_prompt import Form

_FORMAT: Final = needed("format_version", "text", "`1.0`.")
_MODEL: Final = optional(
    "response_model_info",
    "mapping",
    (
        "The model of the answer: class, module and JSON Schema. Nothing of it is loaded: whoever loads "
        "the file gives the class again."
    ),
)
_EXAMPLE: Final = table(
    needed("input", "mapping", "The inputs of the example."),
    needed("output", "mapping", "The answer that it shows."),
)
_WITH_MODELS: Final = table(
    needed(
        "ragas_version", "text", "The release that saved the file; another one warns when it loads the file."
    ),
    optional(
        "original_hash",
        "integer",
        (
            "A number for what the class held when the prompt was saved; Ragas warns where the class "
            "gives another one. It has up to 19 digits, which JavaScript rounds."
        ),
    ),
    needed("language", "text", "The language of the examples; the file's name ends in it."),
    needed(
        "instruction",
        "text",
        "The task; the schema of the answer, the examples and the input follow it. Braces are text.",
    ),
    needed("examples", "list of mappings", "Each has `input` and `output`, which the model reads as JSON."),
)
_SIMPLE: Final = table(
    _FORMAT,
    needed("type", "text", "`Prompt`, or `DynamicFewShotPrompt`, which shows examples near the input."),
    needed(
        "instruction", "text", "The task. `{name}` is an input; a brace that is meant as text stands twice."
    ),
    optional(
        "examples",
        "list of mappings",
        "Each has `input` and `output`; they stand below the instruction, line by line.",
    ),
    _MODEL,
    optional(
        "max_similar_examples",
        "integer",
        "How many examples are shown; without an embedding model they are the last ones. Default: 3.",
    ),
    optional(
        "similarity_threshold",
        "number",
        "How similar to the input an example must be to be shown. Default: 0.7.",
    ),
    optional(
        "embedding_model_info",
        "mapping",
        "The embedding model's class; whoever loads the file gives the model again.",
    ),
    optional("embeddings", "list", "The examples' vectors, in their order."),
)
_METRIC: Final = table(
    _FORMAT,
    needed(
        "metric_type",
        "text",
        "`DiscreteMetric`, `NumericMetric` or `RankingMetric`; no other class loads the file.",
    ),
    needed("name", "text", "The metric's name."),
    needed(
        "prompt", "mapping", "What the judge is asked: a simple prompt, whose fields are the metric's inputs."
    ),
    needed("config", "mapping", "The metric's own settings."),
    _MODEL,
)
_CONFIG: Final = table(
    needed(
        "allowed_values",
        "list or integer",
        (
            "The scores that there may be: a list of texts for a discrete metric, the lowest and the "
            "highest number for a numeric one, the length of the ranking for a ranking metric."
        ),
    ),
)
_RESPONSE_MODEL: Final = table(
    needed("class_name", "text", "The model's class."),
    needed("module", "text", "Where the class is defined."),
    needed("schema", "mapping", "The answer's JSON Schema."),
    optional("note", "text", "A word for whoever loads it."),
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
    """What is known of the key that `keys` lead to, with `-` for the items of lists."""
    return saved_keys(form, keys[:-1]).get(keys[-1]) if keys else None


def saved_keys(form: Form, path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    """The keys of the mapping at `path`; none where they are the user's own."""
    return _TABLES[form].get(path, {})
