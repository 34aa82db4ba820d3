"""The keys of an evaluation prompt in YAML around its templates and its retriever. Plain tables.

Source: OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, needed, optional, table

EVALUATION_KEYS: Mapping[str, KeyFact] = table(
    optional(
        "infer_cfg",
        "mapping",
        (
            "How prompts are built and asked: the templates, the retriever and the inferencer. "
            "Its keys may also stand at the top level."
        ),
    ),
    optional(
        "reader_cfg", "mapping", "Which columns of the data set are inputs, and which one is the answer."
    ),
    optional("meta_template", "mapping", "How a model lays out a dialogue: the texts around each role."),
    optional(
        "meta_templates",
        "mapping of names to meta templates",
        (
            "Meta templates to choose from where the prompt is shown, one for each model. "
            "The one of `meta_template` comes first."
        ),
    ),
    optional(
        "path",
        "path",
        (
            "The data set: a CSV or JSONL file, or a folder with one for each split, such as "
            "`train.csv` and `test.csv`. A name in a hub stands for rows that are not here."
        ),
    ),
    optional(
        "eval_cfg",
        "mapping",
        "How OpenCompass scores the answers. Experiments of promptls have `metrics` for that.",
    ),
    optional("abbr", "text", "The short name of the data set in OpenCompass's results."),
)
"""Keys at the top level of an evaluation prompt."""

INFER_KEYS: Mapping[str, KeyFact] = table(
    optional(
        "ice_template",
        "template mapping",
        (
            "How one in-context example (ICE) is written. Without `prompt_template` it writes the"
            " question too, and then needs an `ice_token`. Of a dialogue, examples show `round` only."
        ),
    ),
    optional(
        "prompt_template",
        "template mapping",
        "How the question is written; the examples go where its `ice_token` stands.",
    ),
    needed(
        "retriever", "mapping", "Which rows become in-context examples: `ZeroRetriever`, `FixKRetriever`, …"
    ),
    needed(
        "inferencer",
        "mapping",
        "How the model is asked: `GenInferencer` lets it write, `PPLInferencer` takes the likeliest label.",
    ),
)
"""Keys of `infer_cfg`."""

INFERENCER_KEYS: Mapping[str, KeyFact] = table(
    needed("type", "class name", "The inferencer class: `GenInferencer`, `PPLInferencer`, …"),
    optional("max_out_len", "integer", "The longest answer, in tokens."),
    optional(
        "max_seq_len",
        "integer",
        "The longest prompt, in tokens; in-context examples are dropped from the end until it fits.",
    ),
    optional("batch_size", "integer", "How many prompts are asked at once."),
    optional(
        "gen_field_replace_token",
        "text",
        "What stands in the prompt in place of the output column. Default: nothing.",
    ),
    optional("stopping_criteria", "list of texts", "Texts that end the answer."),
    optional(
        "labels",
        "list of labels",
        "The labels that `PPLInferencer` compares, where the template does not name them.",
    ),
)
"""Keys of `inferencer`."""

READER_KEYS: Mapping[str, KeyFact] = table(
    needed(
        "input_columns",
        "list of names",
        "The columns with inputs: retrievers compare rows by them. Templates may use the others too.",
    ),
    needed(
        "output_column",
        "text",
        (
            "The column with the answer; a prompt whose answer the model writes gets an empty text for "
            "it. In examples, prompts for labels and messages it stands as it is."
        ),
    ),
    optional(
        "input_template",
        "template mapping",
        "How a row's inputs are written for retrievers that compare rows.",
    ),
    optional(
        "output_template",
        "template mapping",
        "How a row's answer is written for retrievers that compare rows.",
    ),
    optional(
        "train_range",
        "text or number",
        (
            "Which rows of the training split are used: a slice such as `[:100]`; or a number, or a "
            "share below 1, of them in a fixed random order."
        ),
    ),
    optional("test_range", "text or number", "Which rows of the test split are asked, as in `train_range`."),
    optional("train_split", "text", "The name of the training split. Default: `train`."),
    optional("test_split", "text", "The name of the test split. Default: `test`."),
)
"""Keys of `reader_cfg`."""
