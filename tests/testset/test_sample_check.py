from __future__ import annotations

import json

import pytest

from promptls.testset.synthesizers.base_query import Draft, read_sample

CONTEXT = "A library card costs five euros a year, and 12 euros for a firm. Children get theirs for nothing."
QUERY = "What does a card cost?"


def said(query: str, answer: str) -> str:
    return json.dumps({"query": query, "answer": answer})


@pytest.mark.parametrize(
    "text",
    [
        said(QUERY, "A library card costs five euros."),
        said(QUERY, "five euros"),
        said(QUERY, "Children receive their card free, while firms are charged 12 euros annually."),
        said(QUERY, "12"),
        "Sure!\n```json\n" + said(QUERY, "A library card costs five euros.") + "\n```",
    ],
    ids=["sentence", "words", "other words", "number", "fence"],
)
def test_an_answer_out_of_the_contexts_is_taken(text: str) -> None:
    assert isinstance(read_sample(text, [CONTEXT]), Draft)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "an empty answer"),
        ("The card costs five euros.", "no JSON with a query and an answer"),
        ('{"query": "What', "no JSON with a query and an answer"),
        ('{"query": ["a"], "answer": "b"}', "no JSON with a query and an answer"),
        (said(" ", "five euros"), "no query"),
        (said("?!", "five euros"), "no query"),
        (said(QUERY, "..."), "no reference answer"),
        (said(QUERY, QUERY), "a query that is its own answer"),
        (said("What does the text say?", "five euros"), "talk about the task itself"),
        (said(QUERY, "It is five euros, as text 1 says"), "talk about the task itself"),
        (said(QUERY, "it is five euros and " * 9), "an answer that repeats itself"),
        (said("Who decides on a team's future?", "five euros"), "a query that is not about the documents"),
        (said(QUERY, "It costs 50 euros a year"), "an answer that is not in the documents"),
        (said(QUERY, "`five euros` by `pay-card`"), "an answer that is not in the documents"),
        (said(QUERY, "Nobody knows; ask the mayor about taxes"), "an answer that is not in the documents"),
        (said("Сколько стоит карта?", "five euros"), "another language than that of the documents"),
        (
            said(
                "Wie viel kostet hier eine solche Karte denn für meine Tochter im ganzen Jahr?", "five euros"
            ),
            "another language than that of the documents",
        ),
    ],
)
def test_what_is_no_good_is_named_and_never_fixed(text: str, problem: str) -> None:
    assert read_sample(text, [CONTEXT]) == problem


GERMAN = "Eine Karte der Bücherei kostet fünf Euro im Jahr. Kinder bekommen ihre Karte umsonst."
JAPANESE = "図書館カードは年間五ユーロです。子供は無料でもらえます。"


@pytest.mark.parametrize(
    ("query", "answer", "context"),
    [
        ("Was kostet eine Karte der Bücherei?", "Eine Karte kostet fünf Euro im Jahr.", GERMAN),
        ("図書館カードはいくらですか", "図書館カードは年間五ユーロです。", JAPANESE),
    ],
    ids=["german", "japanese"],
)
def test_documents_in_other_languages_have_answers_in_theirs(query: str, answer: str, context: str) -> None:
    assert read_sample(said(query, answer), [context]) == Draft(query, answer)


def test_english_about_german_documents_is_another_language() -> None:
    found = read_sample(said("How much is it to have a card for a year?", "fünf Euro"), [GERMAN])
    assert found == "another language than that of the documents"
