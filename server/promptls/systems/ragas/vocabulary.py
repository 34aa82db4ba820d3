"""The keys of a Ragas prompt object, with what Ragas does with each. Plain tables.

Source: `ragas.llms.prompt.Prompt` of Ragas 0.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, needed, optional, table

PROMPT_KEYS: Mapping[str, KeyFact] = table(
    optional("name", "text", "The prompt's name; the file that Ragas saves is called after it."),
    needed(
        "instruction",
        "text",
        (
            "The task in plain language, the first thing that the model reads. It must not be "
            "empty, and its braces are taken for inputs."
        ),
    ),
    optional(
        "output_format_instruction",
        "text",
        "How the answer is to be laid out; stands right below the instruction.",
    ),
    optional(
        "examples",
        "list of mappings",
        (
            "Demonstrations. Each holds every input key and the output key, and is shown to the "
            "model as `key: value` lines with the values in JSON."
        ),
    ),
    needed(
        "input_keys",
        "list of names",
        "The names of the inputs. Each is asked for when the prompt is formatted, neither more nor fewer.",
    ),
    needed(
        "output_key",
        "text",
        "The name of the one output, which the prompt ends with and every example holds.",
    ),
    optional(
        "output_type",
        "`json` or `str`",
        (
            "Whether outputs are JSON or plain text. With `json`, an example's output given as "
            "text must parse as JSON. Default: `json`."
        ),
    ),
    optional("language", "text", "The language that the examples are written in. Default: `english`."),
)
"""The keys of a prompt object, in the order in which Ragas saves them."""

NEWER_FILE_KEYS: frozenset[str] = frozenset(
    {"original_hash", "format_version", "response_model_info", "metric_type"}
)
"""Keys of the files that later releases of Ragas save, which have no `input_keys` and no `output_key`."""

METRIC_FILE_KEYS: frozenset[str] = frozenset({"metric_type", "prompt", "config"})
"""Keys that together make a file one of a metric with a prompt, as later releases of Ragas save it."""

OUTPUT_TYPES: Mapping[str, str] = {
    "json": "The output is JSON; an example's output given as text must parse.",
    "str": "The output is plain text.",
}
"""The values of `output_type`, with what they mean."""

DEFAULT_OUTPUT_TYPE = "json"
DEFAULT_LANGUAGE = "english"
