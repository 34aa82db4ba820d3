"""The keys of the files that Ragas saves since 0.2, with what Ragas does with each. Plain tables.

Source: `ragas/prompt/` and `ragas/metrics/base.py` of Ragas 0.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from promptls.systems.key_fact import KeyFact, table
from promptls.systems.ragas.saved_prompt import Form

_FORMAT: Final = KeyFact("format_version", required=True, type_words="text", documentation="`1.0`.")
_MODEL: Final = KeyFact(
    "response_model_info",
    required=False,
    type_words="mapping",
    documentation=(
        "The model of the answer: class, module and JSON Schema. Nothing of it is loaded: whoever loads "
        "the file gives the class again."
    ),
)
_EXAMPLE: Final = table(
    (
        KeyFact("input", required=True, type_words="mapping", documentation="The inputs of the example."),
        KeyFact("output", required=True, type_words="mapping", documentation="The answer that it shows."),
    )
)
_WITH_MODELS: Final = table(
    (
        KeyFact(
            "ragas_version",
            required=True,
            type_words="text",
            documentation="The release that saved the file; another one warns when it loads the file.",
        ),
        KeyFact(
            "original_hash",
            required=False,
            type_words="integer",
            documentation=(
                "A number for what the class held when the prompt was saved; Ragas warns where the class "
                "gives another one. It has up to 19 digits, which JavaScript rounds."
            ),
        ),
        KeyFact(
            "language",
            required=True,
            type_words="text",
            documentation="The language of the examples; the file's name ends in it.",
        ),
        KeyFact(
            "instruction",
            required=True,
            type_words="text",
            documentation=(
                "The task; the schema of the answer, the examples and the input follow it. Braces are text."
            ),
        ),
        KeyFact(
            "examples",
            required=True,
            type_words="list of mappings",
            documentation="Each has `input` and `output`, which the model reads as JSON.",
        ),
    )
)
_SIMPLE: Final = table(
    (
        _FORMAT,
        KeyFact(
            "type",
            required=True,
            type_words="text",
            documentation="`Prompt`, or `DynamicFewShotPrompt`, which shows examples near the input.",
        ),
        KeyFact(
            "instruction",
            required=True,
            type_words="text",
            documentation="The task. `{name}` is an input; a brace that is meant as text stands twice.",
        ),
        KeyFact(
            "examples",
            required=False,
            type_words="list of mappings",
            documentation="Each has `input` and `output`; they stand below the instruction, line by line.",
        ),
        _MODEL,
        KeyFact(
            "max_similar_examples",
            required=False,
            type_words="integer",
            documentation=(
                "How many examples are shown; without an embedding model they are the last ones. Default: 3."
            ),
        ),
        KeyFact(
            "similarity_threshold",
            required=False,
            type_words="number",
            documentation="How similar to the input an example must be to be shown. Default: 0.7.",
        ),
        KeyFact(
            "embedding_model_info",
            required=False,
            type_words="mapping",
            documentation="The embedding model's class; whoever loads the file gives the model again.",
        ),
        KeyFact(
            "embeddings",
            required=False,
            type_words="list",
            documentation="The examples' vectors, in their order.",
        ),
    )
)
_METRIC: Final = table(
    (
        _FORMAT,
        KeyFact(
            "metric_type",
            required=True,
            type_words="text",
            documentation=(
                "`DiscreteMetric`, `NumericMetric` or `RankingMetric`; no other class loads the file."
            ),
        ),
        KeyFact("name", required=True, type_words="text", documentation="The metric's name."),
        KeyFact(
            "prompt",
            required=True,
            type_words="mapping",
            documentation="What the judge is asked: a simple prompt, whose fields are the metric's inputs.",
        ),
        KeyFact("config", required=True, type_words="mapping", documentation="The metric's own settings."),
        _MODEL,
    )
)
_CONFIG: Final = table(
    (
        KeyFact(
            "allowed_values",
            required=True,
            type_words="list or integer",
            documentation=(
                "The scores that there may be: a list of texts for a discrete metric, the lowest and the "
                "highest number for a numeric one, the length of the ranking for a ranking metric."
            ),
        ),
    )
)
_RESPONSE_MODEL: Final = table(
    (
        KeyFact("class_name", required=True, type_words="text", documentation="The model's class."),
        KeyFact("module", required=True, type_words="text", documentation="Where the class is defined."),
        KeyFact("schema", required=True, type_words="mapping", documentation="The answer's JSON Schema."),
        KeyFact("note", required=False, type_words="text", documentation="A word for whoever loads it."),
    )
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
