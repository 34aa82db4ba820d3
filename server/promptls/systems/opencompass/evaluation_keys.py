"""The keys of an evaluation prompt in YAML around its templates and its retriever. Plain tables.

Source: OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, table

EVALUATION_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="infer_cfg",
            required=False,
            type_words="mapping",
            documentation=(
                "How prompts are built and asked: the templates, the retriever and the inferencer. "
                "Its keys may also stand at the top level."
            ),
        ),
        KeyFact(
            name="reader_cfg",
            required=False,
            type_words="mapping",
            documentation="Which columns of the data set are inputs, and which one is the answer.",
        ),
        KeyFact(
            name="meta_template",
            required=False,
            type_words="mapping",
            documentation="How a model lays out a dialogue: the texts around each role.",
        ),
        KeyFact(
            name="meta_templates",
            required=False,
            type_words="mapping of names to meta templates",
            documentation=(
                "Meta templates to choose from where the prompt is shown, one for each model. "
                "The one of `meta_template` comes first."
            ),
        ),
        KeyFact(
            name="path",
            required=False,
            type_words="path",
            documentation=(
                "The data set: a CSV or JSONL file, or a folder with one for each split, such as "
                "`train.csv` and `test.csv`. A name in a hub stands for rows that are not here."
            ),
        ),
        KeyFact(
            name="eval_cfg",
            required=False,
            type_words="mapping",
            documentation=(
                "How OpenCompass scores the answers. Experiments of promptls have `metrics` for that."
            ),
        ),
        KeyFact(
            name="abbr",
            required=False,
            type_words="text",
            documentation="The short name of the data set in OpenCompass's results.",
        ),
    )
)
"""Keys at the top level of an evaluation prompt."""

INFER_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="ice_template",
            required=False,
            type_words="template mapping",
            documentation=(
                "How one in-context example (ICE) is written. Without `prompt_template` it writes the"
                " question too, and then needs an `ice_token`. Of a dialogue, examples show `round` only."
            ),
        ),
        KeyFact(
            name="prompt_template",
            required=False,
            type_words="template mapping",
            documentation="How the question is written; the examples go where its `ice_token` stands.",
        ),
        KeyFact(
            name="retriever",
            required=True,
            type_words="mapping",
            documentation="Which rows become in-context examples: `ZeroRetriever`, `FixKRetriever`, …",
        ),
        KeyFact(
            name="inferencer",
            required=True,
            type_words="mapping",
            documentation=(
                "How the model is asked: `GenInferencer` lets it write, `PPLInferencer` takes the "
                "likeliest label."
            ),
        ),
    )
)
"""Keys of `infer_cfg`."""

INFERENCER_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="type",
            required=True,
            type_words="class name",
            documentation="The inferencer class: `GenInferencer`, `PPLInferencer`, …",
        ),
        KeyFact(
            name="max_out_len",
            required=False,
            type_words="integer",
            documentation="The longest answer, in tokens.",
        ),
        KeyFact(
            name="max_seq_len",
            required=False,
            type_words="integer",
            documentation=(
                "The longest prompt, in tokens; in-context examples are dropped from the end until it fits."
            ),
        ),
        KeyFact(
            name="batch_size",
            required=False,
            type_words="integer",
            documentation="How many prompts are asked at once.",
        ),
        KeyFact(
            name="gen_field_replace_token",
            required=False,
            type_words="text",
            documentation="What stands in the prompt in place of the output column. Default: nothing.",
        ),
        KeyFact(
            name="stopping_criteria",
            required=False,
            type_words="list of texts",
            documentation="Texts that end the answer.",
        ),
        KeyFact(
            name="labels",
            required=False,
            type_words="list of labels",
            documentation="The labels that `PPLInferencer` compares, where the template does not name them.",
        ),
    )
)
"""Keys of `inferencer`."""

READER_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="input_columns",
            required=True,
            type_words="list of names",
            documentation=(
                "The columns with inputs: retrievers compare rows by them. Templates may use the others too."
            ),
        ),
        KeyFact(
            name="output_column",
            required=True,
            type_words="text",
            documentation=(
                "The column with the answer; a prompt whose answer the model writes gets an empty text for "
                "it. In examples, prompts for labels and messages it stands as it is."
            ),
        ),
        KeyFact(
            name="input_template",
            required=False,
            type_words="template mapping",
            documentation="How a row's inputs are written for retrievers that compare rows.",
        ),
        KeyFact(
            name="output_template",
            required=False,
            type_words="template mapping",
            documentation="How a row's answer is written for retrievers that compare rows.",
        ),
        KeyFact(
            name="train_range",
            required=False,
            type_words="text or number",
            documentation=(
                "Which rows of the training split are used: a slice such as `[:100]`; or a number, or a "
                "share below 1, of them in a fixed random order."
            ),
        ),
        KeyFact(
            name="test_range",
            required=False,
            type_words="text or number",
            documentation="Which rows of the test split are asked, as in `train_range`.",
        ),
        KeyFact(
            name="train_split",
            required=False,
            type_words="text",
            documentation="The name of the training split. Default: `train`.",
        ),
        KeyFact(
            name="test_split",
            required=False,
            type_words="text",
            documentation="The name of the test split. Default: `test`.",
        ),
    )
)
"""Keys of `reader_cfg`."""
