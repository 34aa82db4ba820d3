"""The retrievers of in-context examples, and the keys that they take. Plain tables.

Source: OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, needed, optional, table

RETRIEVERS: Mapping[str, str] = {
    "ZeroRetriever": "No examples.",
    "FixKRetriever": "The rows of `fix_id_list`, the same for every question.",
    "RandomRetriever": "Random rows, with a fixed seed.",
    "SlidingWindowRetriever": "The `k` rows before the asked one.",
    "BM25Retriever": "The rows whose words are nearest.",
    "TopkRetriever": "The rows whose embeddings are nearest.",
    "MDLRetriever": "Of the nearest rows, those that compress the question best.",
    "DPPRetriever": "Near rows that differ from one another.",
    "VotekRetriever": "The rows that most others have among their nearest, the same for every question.",
}
"""Values of a retriever's `type`, with which examples each shows."""

RETRIEVER_KEYS: Mapping[str, KeyFact] = table(
    needed("type", "class name", "The retriever class, such as `ZeroRetriever`."),
    optional(
        "fix_id_list", "list of integers", "The training rows that `FixKRetriever` shows, counted from 0."
    ),
    optional(
        "ice_num",
        "integer",
        (
            "How many examples are shown. Default: 1. `FixKRetriever` and `SlidingWindowRetriever` do "
            "not look at it."
        ),
    ),
    optional(
        "ice_separator",
        "text",
        "What stands between two examples. Default: a line break. Between dialogues there is nothing.",
    ),
    optional(
        "ice_eos_token",
        "text",
        (
            "What stands behind the last example. Default: a line break, of `ZeroRetriever` nothing. "
            "Behind dialogues there is nothing."
        ),
    ),
    optional("index_split", "text", "The split that examples are taken from. Default: `train`."),
    optional("test_split", "text", "The split that is asked. Default: `test`."),
    optional(
        "k",
        "integer",
        (
            "How many rows `SlidingWindowRetriever` shows: the training rows just ahead of the asked "
            "row's number, and for the first rows the last ones of all."
        ),
    ),
    optional("seed", "integer", "Where the random rows of `RandomRetriever` begin. Default: 43."),
    optional(
        "sentence_transformers_model_name",
        "text",
        "The sentence model of `TopkRetriever` and `VotekRetriever`. Default: `all-mpnet-base-v2`.",
    ),
    optional("tokenizer_name", "text", "The tokenizer of `TopkRetriever`. Default: `gpt2-xl`."),
    optional("batch_size", "integer", "How many rows `TopkRetriever` embeds at once. Default: 1."),
    optional(
        "votek_k", "integer", "For how many of its neighbours a row votes in `VotekRetriever`. Default: 3."
    ),
)
"""Keys of `retriever`."""

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
    "VotekRetriever": (
        (),
        (
            "ice_separator", "ice_eos_token", "ice_num",
            "sentence_transformers_model_name", "tokenizer_name", "batch_size", "votek_k",
        ),
    ),
}  # fmt: skip
"""What a retriever must be given and what it may be given; any other key is a TypeError."""

EMBEDDING_RETRIEVERS: frozenset[str] = frozenset({"TopkRetriever", "VotekRetriever"})
"""Retrievers that compare the embeddings of rows by a sentence model."""

COMPARING_RETRIEVERS: frozenset[str] = EMBEDDING_RETRIEVERS | {"BM25Retriever"}
"""Retrievers that compare all training rows with each question."""

LEGACY_RETRIEVER_KEYS: frozenset[str] = frozenset({"type", "dataset", "index_split", "test_split"})
"""Keys that OpenCompass puts in itself, or took in earlier releases."""
