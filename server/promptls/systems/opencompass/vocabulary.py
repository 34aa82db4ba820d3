"""The keys of an OpenCompass evaluation prompt in YAML, by the mapping they stand in. Plain tables.

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

TEMPLATE_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="type",
            required=False,
            type_words="class name",
            documentation="The template class: `PromptTemplate`, or `RawPromptTemplate` for messages.",
        ),
        KeyFact(
            name="template",
            required=True,
            type_words="text or mapping",
            documentation=(
                "A text with `{column}` fields; or a dialogue (`begin`, `round`, `end`); or a mapping"
                " from label to either, one prompt for each label."
            ),
        ),
        KeyFact(
            name="ice_token",
            required=False,
            type_words="text",
            documentation=(
                "The mark, often `</E>`, that is replaced by the in-context examples; it must stand "
                "in the text."
            ),
        ),
        KeyFact(
            name="sep_token",
            required=False,
            type_words="text",
            documentation="A mark that is removed from the text.",
        ),
        KeyFact(
            name="messages",
            required=False,
            type_words="list of mappings",
            documentation=(
                "The messages of a `RawPromptTemplate`: `role` and `content`; no column is masked in "
                "them, the answer's neither."
            ),
        ),
        KeyFact(
            name="format_variables",
            required=False,
            type_words="yes or no",
            documentation="Whether a `RawPromptTemplate` fills in its fields. Default: yes.",
        ),
    )
)
"""Keys of `ice_template` and `prompt_template`."""

DIALOGUE_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="begin",
            required=False,
            type_words="list of items",
            documentation="What stands before the dialogue, often a system message.",
        ),
        KeyFact(
            name="round",
            required=True,
            type_words="list of mappings",
            documentation=(
                "The turns: `role` and `prompt` each. What the last generating role says is left to "
                "the model."
            ),
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="list of items",
            documentation=(
                "What stands behind the dialogue. With a meta template OpenCompass 0.5.4 fails when "
                "it reaches it."
            ),
        ),
    )
)
"""Keys of a dialogue template; one key more, and OpenCompass reads the mapping as labels."""

TURN_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="role",
            required=True,
            type_words="text",
            documentation=(
                "Who speaks: `HUMAN`, `BOT` or `SYSTEM` by custom; the model's meta template must "
                "know the role."
            ),
        ),
        KeyFact(
            name="fallback_role",
            required=False,
            type_words="text",
            documentation=(
                "The role to use where the meta template does not know `role`. In `round`, only models "
                "behind an API use it."
            ),
        ),
        KeyFact(
            name="prompt",
            required=False,
            type_words="text",
            documentation="What is said, with `{column}` fields.",
        ),
        KeyFact(
            name="begin",
            required=False,
            type_words="text",
            documentation="Text before the turn, in place of the meta template's.",
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="text",
            documentation="Text behind the turn, in place of the meta template's.",
        ),
    )
)
"""Keys of one turn of a dialogue."""

META_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="begin",
            required=False,
            type_words="text",
            documentation="What stands before the whole dialogue.",
        ),
        KeyFact(
            name="round",
            required=True,
            type_words="list of mappings",
            documentation="The roles that the model knows, in the order of their turns.",
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="text",
            documentation="What stands behind the whole dialogue; left out while the model writes.",
        ),
        KeyFact(
            name="reserved_roles",
            required=False,
            type_words="list of mappings",
            documentation="Roles that stand outside the turns, such as `SYSTEM`.",
        ),
    )
)
"""Keys of `meta_template`."""

META_ROLE_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="role",
            required=True,
            type_words="text",
            documentation="The role's name, as dialogues use it: `HUMAN`, `BOT`, `SYSTEM`.",
        ),
        KeyFact(
            name="begin",
            required=False,
            type_words="text",
            documentation="Text before each turn of the role.",
        ),
        KeyFact(
            name="prompt",
            required=False,
            type_words="text",
            documentation="What the role says where the dialogue gives it nothing.",
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="text",
            documentation="Text behind each turn of the role.",
        ),
        KeyFact(
            name="generate",
            required=False,
            type_words="yes or no",
            documentation="Whether the model writes what this role says: its last turn ends the prompt.",
        ),
        KeyFact(
            name="api_role",
            required=False,
            type_words="text",
            documentation="The role in the messages for a model behind an API; all roles need one, or none.",
        ),
    )
)
"""Keys of a role of a meta template."""

RETRIEVER_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="type",
            required=True,
            type_words="class name",
            documentation="The retriever class, such as `ZeroRetriever`.",
        ),
        KeyFact(
            name="fix_id_list",
            required=False,
            type_words="list of integers",
            documentation="The training rows that `FixKRetriever` shows, counted from 0.",
        ),
        KeyFact(
            name="ice_num",
            required=False,
            type_words="integer",
            documentation=(
                "How many examples are shown. Default: 1. `FixKRetriever` and `SlidingWindowRetriever` do "
                "not look at it."
            ),
        ),
        KeyFact(
            name="ice_separator",
            required=False,
            type_words="text",
            documentation=(
                "What stands between two examples. Default: a line break. Between dialogues there is nothing."
            ),
        ),
        KeyFact(
            name="ice_eos_token",
            required=False,
            type_words="text",
            documentation=(
                "What stands behind the last example. Default: a line break, of `ZeroRetriever` nothing. "
                "Behind dialogues there is nothing."
            ),
        ),
        KeyFact(
            name="index_split",
            required=False,
            type_words="text",
            documentation="The split that examples are taken from. Default: `train`.",
        ),
        KeyFact(
            name="test_split",
            required=False,
            type_words="text",
            documentation="The split that is asked. Default: `test`.",
        ),
        KeyFact(
            name="k",
            required=False,
            type_words="integer",
            documentation=(
                "How many rows `SlidingWindowRetriever` shows: the training rows just ahead of the asked "
                "row's number, and for the first rows the last ones of all."
            ),
        ),
        KeyFact(
            name="seed",
            required=False,
            type_words="integer",
            documentation="Where the random rows of `RandomRetriever` begin. Default: 43.",
        ),
        KeyFact(
            name="sentence_transformers_model_name",
            required=False,
            type_words="text",
            documentation="The sentence model of `TopkRetriever`. Default: `all-mpnet-base-v2`.",
        ),
        KeyFact(
            name="tokenizer_name",
            required=False,
            type_words="text",
            documentation="The tokenizer of `TopkRetriever`. Default: `gpt2-xl`.",
        ),
        KeyFact(
            name="batch_size",
            required=False,
            type_words="integer",
            documentation="How many rows `TopkRetriever` embeds at once. Default: 1.",
        ),
    )
)
"""Keys of `retriever`."""

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

RETRIEVERS: Mapping[str, str] = {
    "ZeroRetriever": "No examples.",
    "FixKRetriever": "The rows of `fix_id_list`, the same for every question.",
    "RandomRetriever": "Random rows, with a fixed seed.",
    "SlidingWindowRetriever": "The `k` rows before the asked one.",
    "BM25Retriever": "The rows whose words are nearest.",
    "TopkRetriever": "The rows whose embeddings are nearest.",
    "MDLRetriever": "Of the nearest rows, those that compress the question best.",
    "DPPRetriever": "Near rows that differ from one another.",
    "VotekRetriever": "Rows picked by votes of their neighbours.",
}
"""Values of a retriever's `type`, with which examples each shows."""

INFERENCERS: Mapping[str, str] = {
    "GenInferencer": "The model writes the answer.",
    "PPLInferencer": "One prompt for each label; the one with the lowest perplexity wins.",
    "CLPInferencer": "The label with the highest conditional log probability wins.",
    "LLInferencer": "The label with the highest log likelihood wins.",
    "ChatInferencer": "The model answers a conversation of several turns.",
}
"""Values of an inferencer's `type`, with how the model is asked."""

TEMPLATE_TYPES: Mapping[str, str] = {
    "PromptTemplate": "A text, a dialogue, or one of either for each label.",
    "RawPromptTemplate": "Messages in the OpenAI format; nothing is masked.",
}
"""Values of a template's `type`."""

DIALOGUE_ROLES: Mapping[str, str] = {
    "HUMAN": "The person who asks.",
    "BOT": "The model.",
    "SYSTEM": "Instructions before the dialogue; give it a `fallback_role`, as not every model knows it.",
}
"""Roles that dialogues use by custom."""

MESSAGE_ROLES: Mapping[str, str] = {
    "system": "Instructions ahead of the conversation.",
    "user": "The person who asks.",
    "assistant": "The model.",
}
"""Roles of the messages of a `RawPromptTemplate`."""

RETRIEVER_ARGUMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ZeroRetriever": ((), ("ice_eos_token",)),
    "FixKRetriever": (("fix_id_list",), ("ice_separator", "ice_eos_token", "ice_num")),
    "RandomRetriever": ((), ("ice_separator", "ice_eos_token", "ice_num", "seed")),
    "SlidingWindowRetriever": (("k",), ("ice_separator", "ice_eos_token", "ice_num")),
    "BM25Retriever": ((), ("ice_separator", "ice_eos_token", "ice_num")),
    "TopkRetriever": (
        (),
        (
            "ice_separator", "ice_eos_token", "ice_num",
            "sentence_transformers_model_name", "tokenizer_name", "batch_size",
        ),
    ),
}  # fmt: skip
"""What a retriever must be given and what it may be given; any other key is a TypeError."""

LEGACY_RETRIEVER_KEYS: frozenset[str] = frozenset({"type", "dataset", "index_split", "test_split"})
"""Keys that OpenCompass puts in itself, or took in earlier releases."""

LABEL_INFERENCERS: frozenset[str] = frozenset({"PPLInferencer", "LLInferencer"})
"""Inferencers that weigh one prompt for each label."""

CHAT_INFERENCERS: frozenset[str] = frozenset({"ChatInferencer", "AgentInferencer"})
"""Inferencers that ask the turns of a chat one by one, and show no in-context examples."""

MORE_INFERENCERS: frozenset[str] = frozenset(
    {
        "AgentInferencer", "AttackInferencer", "ChatMLInferencer", "GLMChoiceInferencer",
        "InferencePPLOnlyInferencer", "MinKPercentInferencer", "ParallelGenInferencer", "PPLOnlyInferencer",
        "SCInferencer", "SWCELossInferencer", "ToTInferencer",
    }
)  # fmt: skip
"""Inferencers for special purposes."""

USUAL_ICE_MARK = "</E>"
"""The `ice_token`, the mark for in-context examples that configurations use by custom."""
