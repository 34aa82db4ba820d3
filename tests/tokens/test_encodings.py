"""Encodings are those of tiktoken, and need no network."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.tokens import (
    ENCODING_NAMES,
    UnknownEncodingError,
    encoding_name,
    is_approximate,
    load,
)
from support.example_counts import examples


@pytest.mark.parametrize(
    ("encoding", "text", "ids"),
    [
        ("o200k_base", "hello world", [24912, 2375]),
        ("cl100k_base", "hello world", [15339, 1917]),
        ("o200k_base", "", []),
        ("cl100k_base", "tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]),
    ],
)
def test_ids_are_the_published_ones(encoding: str, text: str, ids: list[int]) -> None:
    assert load(encoding).encode(text) == ids


@pytest.mark.parametrize(("encoding", "size"), [("o200k_base", 200_019), ("cl100k_base", 100_277)])
def test_the_vocabulary_is_complete(encoding: str, size: int) -> None:
    assert load(encoding).n_vocab == size


@examples(60)
@given(st.text(), st.sampled_from(ENCODING_NAMES))
def test_text_survives_encoding_and_decoding(text: str, encoding: str) -> None:
    tokens = load(encoding).encode_ordinary(text)
    assert load(encoding).decode(tokens) == text


def test_loading_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptls import tokens

    def refuse(*_arguments: object) -> None:
        pytest.fail("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(tokens, "_loaded", {})
    assert load("cl100k_base").name == "cl100k_base"


def test_the_native_module_of_the_vocabulary_package_is_not_loaded() -> None:
    code = (
        "import sys; from promptls.tokens import load; load('cl100k_base');"
        "print([name for name in sys.modules if name.startswith('bpe_openai')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_importing_the_room_does_not_import_tiktoken() -> None:
    code = "import sys, promptls.tokens; print('tiktoken' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_threads_share_one_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptls import tokens

    monkeypatch.setattr(tokens, "_loaded", {})
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(id(load("cl100k_base")))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("gpt-4o", "o200k_base"), ("gpt-4o-2024-05-13", "o200k_base"), ("gpt-4", "cl100k_base")],
)
def test_a_model_name_selects_its_encoding(name: str, encoding: str) -> None:
    assert encoding_name(name) == encoding


def test_a_misspelled_encoding_names_the_nearest_one() -> None:
    with pytest.raises(UnknownEncodingError, match="Did you mean 'cl100k_base'") as caught:
        load("cl100k_bse")
    assert caught.value.nearest == "cl100k_base"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("text-davinci-003", "cl100k_base"),
        ("p50k_base", "cl100k_base"),
        ("claude-opus-4-1", "o200k_base"),
        ("anthropic:claude-sonnet-4-5", "o200k_base"),
        ("google:gemini-2.5-pro", "o200k_base"),
        ("bedrock:anthropic.claude-3-haiku", "o200k_base"),
        ("meta-llama/Llama-3.1-8B-Instruct", "o200k_base"),
        ("local:smollm2", "o200k_base"),
    ],
)
def test_a_vocabulary_that_is_not_shipped_is_counted_with_the_nearest_and_marked(
    name: str, encoding: str
) -> None:
    assert (encoding_name(name), is_approximate(name)) == (encoding, True)


@pytest.mark.parametrize(
    "name", ["o200k_base", "o200k_harmony", "gpt-4o", "openai:gpt-4.1-mini", "gpt-oss-20b"]
)
def test_counts_of_a_shipped_vocabulary_are_exact(name: str) -> None:
    assert not is_approximate(name)
    assert encoding_name(name) in ENCODING_NAMES


def test_every_encoding_that_tiktoken_has_is_known() -> None:
    import tiktoken

    for name in tiktoken.list_encoding_names():
        assert encoding_name(name) in ENCODING_NAMES


def test_harmony_has_the_vocabulary_of_its_base_and_its_own_special_tokens() -> None:
    harmony, base = load("o200k_harmony"), load("o200k_base")
    assert harmony.encode_ordinary("hello world") == base.encode_ordinary("hello world")
    assert "<|channel|>" in harmony.special_tokens_set - base.special_tokens_set


def test_a_text_of_one_letter_is_counted_at_once() -> None:
    texts = [
        letter * (200_000 // len(letter.encode()))
        for letter in ("a", " ", "\n", "🙂", "é", "漢", "=", "\u200d")
    ]
    code = (
        "import json, sys; from promptls.tokens import count\n"
        "print([count(text, 'o200k_base') > 0 for text in json.load(sys.stdin)])"
    )
    # In a process of its own, which is ended where it hangs.
    result = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(result.stdout.lower()) == [True] * len(texts)
