"""Requests of OpenCompass: further cases, taken from its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from promptls.dialects.opencompass.evaluation_prompt import build_evaluation_prompt, fit_prompt
from promptls.dialects.opencompass.meta_template import build_layout, build_meta_template, lay_out
from promptls.dialects.opencompass.prompt_list import Messages, OpenCompassError, PromptList
from promptls.dialects.opencompass.prompt_templates import build_reader, select_rows
from promptls.dialects.opencompass.retriever import LegacyChoice, SentenceModel

TRAIN = [{"q": "two and two", "a": "4"}, {"q": "the red house", "a": "B"}, {"q": "a blue house", "a": "C"}]
TEST = [
    {"q": "which house is red", "a": "B"},
    {"q": "one", "a": "1"},
    {"q": "x", "a": "y"},
    {"q": "z", "a": "y"},
]
READER = {"input_columns": ["q"], "output_column": "a"}
ICE = {"template": "{q}={a}"}
TEMPLATE = {"template": "</E>{q}={a}", "ice_token": "</E>"}
ROLES = {
    "round": [{"role": "HUMAN", "api_role": "USER"}, {"role": "BOT", "api_role": "BOT", "generate": True}]
}


def _prompt_of(infer: dict[str, Any], index: int = 0) -> Any:
    evaluation = build_evaluation_prompt(infer, READER)
    picked = evaluation.picks(TRAIN, TEST)(index)
    return evaluation.generating(TEST[index], evaluation.joined(evaluation.examples(TRAIN, picked)))


@pytest.mark.parametrize(
    ("retriever", "picked"),
    [
        ({"type": "ZeroRetriever"}, [[], [], []]),
        ({"type": "FixKRetriever", "fix_id_list": [2, 0]}, [[2, 0], [2, 0], [2, 0]]),
        ({"type": "opencompass.openicl.FixKRetriever", "fix_id_list": [-1]}, [[-1], [-1], [-1]]),
        ({"type": "SlidingWindowRetriever", "k": 2}, [[1, 2], [2, 0], [0, 1]]),
        ({"type": "RandomRetriever", "ice_num": 2}, [[1, 2], [0, 2], [1, 0]]),
        ({"type": "BM25Retriever", "ice_num": 2}, [[1, 2], [2, 1], [2, 1]]),
    ],
)
def test_a_retriever_picks_the_rows_of_opencompass(
    retriever: dict[str, Any], picked: list[list[int]]
) -> None:
    evaluation = build_evaluation_prompt({"retriever": retriever, "ice_template": ICE}, READER)
    pick = evaluation.picks(TRAIN, TEST)
    assert [pick(index) for index in range(3)] == picked


def test_mdl_picks_the_examples_with_which_a_language_model_is_surest() -> None:
    ice = {"template": {"B": "</E>{q} red", "C": "</E>{q} blue"}, "ice_token": "</E>"}
    retriever = {
        "type": "MDLRetriever", "ice_num": 1, "candidate_num": 3, "select_time": 8,
        "ice_template": ice, "ice_eos_token": "; ", "ice_separator": "; ",
    }  # fmt: skip
    train = [{"q": "two", "a": "B"}, {"q": "red house", "a": "B"}, {"q": "blue house", "a": "C"}]
    sentences = SentenceModel("words", lambda texts: [[float("house" in text), 0.5] for text in texts])
    scored = []

    def loss(text: str, context: str) -> float:
        scored.append((text, context))
        assert text.startswith(context.removesuffix("; "))
        return 3.0 if text == "blue house blue; which house is red red" else 1.0

    evaluation = build_evaluation_prompt({"retriever": retriever, "ice_template": ice}, READER)
    pick = evaluation.picks(train, TEST, sentences, loss)
    assert pick(0) == [2]
    assert ("red house red; which house is red blue", "red house red; ; ") in scored
    assert len(scored) == 8 * 2


@pytest.mark.parametrize(("population", "count"), [(1, 1), (2, 1), (5, 5), (1000, 8)])
def test_choices_are_those_of_numpy(population: int, count: int) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(43)
    theirs = [numpy.random.choice(population, count, replace=False).tolist() for _ in range(4)]
    choice = LegacyChoice(43)
    assert [choice.draw(population, count) for _ in range(4)] == theirs


def _embedded(texts: Sequence[str]) -> list[list[float]]:
    return [[float("house" in text), float("red" in text), 0.1] for text in texts]


@pytest.mark.parametrize(
    ("retriever", "picked"),
    [
        ({"type": "TopkRetriever", "ice_num": 2}, [[1, 2], [0, 1], [0, 1]]),
        # The index of OpenCompass answers -1 where it has no more rows, which is the last row.
        ({"type": "TopkRetriever", "ice_num": 4}, [[1, 2, 0, -1], [0, 1, 2, -1], [0, 1, 2, -1]]),
        ({"type": "VotekRetriever", "ice_num": 2, "votek_k": 1}, [[2, 1], [2, 1], [2, 1]]),
    ],
)
def test_rows_are_chosen_by_the_embeddings_of_a_sentence_model(
    retriever: dict[str, Any], picked: list[list[int]]
) -> None:
    pytest.importorskip("numpy")
    evaluation = build_evaluation_prompt({"retriever": retriever, "ice_template": ICE}, READER)
    assert evaluation.retriever.sentence_model == "all-mpnet-base-v2"
    pick = evaluation.picks(TRAIN, TEST, SentenceModel("tiny", _embedded))
    assert [pick(index) for index in range(3)] == picked
    with pytest.raises(OpenCompassError, match="sentence model"):
        evaluation.picks(TRAIN, TEST)


@pytest.mark.parametrize(
    ("count", "message", "is_opencompass"),
    [(3, "draws the others at random", False), (4, "`ice_num` is 4, and there are 3", True)],
)
def test_rows_that_chance_would_choose_are_not_shown(
    count: int, message: str, *, is_opencompass: bool
) -> None:
    pytest.importorskip("numpy")
    retriever = {"type": "VotekRetriever", "ice_num": count, "votek_k": 1}
    evaluation = build_evaluation_prompt({"retriever": retriever, "ice_template": ICE}, READER)
    with pytest.raises(OpenCompassError, match=message) as failed:
        evaluation.picks(TRAIN, TEST, SentenceModel("tiny", _embedded))
    assert failed.value.is_opencompass is is_opencompass


def test_the_labels_of_the_inferencer_are_those_that_are_weighed() -> None:
    template = {"template": {"A": "{q}: A", "B": "{q}: B", "C": "{q}: C"}}
    inferencer = {"type": "PPLInferencer", "labels": ["C", "A"]}
    evaluation = build_evaluation_prompt({"prompt_template": template, "inferencer": inferencer}, READER)
    assert evaluation.labels(TEST) == ["C", "A"]


@pytest.mark.parametrize(
    ("size", "rows"),
    [
        (None, [0, 1, 2, 3, 4]),
        ("[1:3]", [1, 2]),
        ("[-2:]", [3, 4]),
        ("[::2]", [0, 2, 4]),
        (9, [0, 1, 2, 3, 4]),
        (2, [2, 1]),
        (0.4, [2, 1]),
    ],
)
def test_a_range_chooses_the_rows_of_opencompass(size: Any, rows: list[int]) -> None:
    assert select_rows(range(5), size) == rows


@pytest.mark.parametrize("written", ["[__import__('os').getcwd()]", "", "[1", "[1, 2]", "[:2].select"])
def test_a_range_is_never_run(written: str) -> None:
    with pytest.raises(OpenCompassError, match="nor a slice"):
        select_rows(range(5), written)


@pytest.mark.parametrize(
    ("infer", "cause", "at"),
    [
        ({"prompt_template": {"template": 5}}, "AssertionError", ("prompt_template", "template")),
        ({"prompt_template": "Q: {q}"}, "TypeError", ("prompt_template",)),
        (
            {"prompt_template": {"template": "x", "ice_token": 5}},
            "TypeError",
            ("prompt_template", "ice_token"),
        ),
        ({"prompt_template": {"type": "Promptt", "template": "x"}}, "KeyError", ("prompt_template", "type")),
        ({"prompt_template": {"type": "RawPromptTemplate"}}, "TypeError", ("prompt_template",)),
        (
            {
                "prompt_template": {
                    "type": "RawPromptTemplate",
                    "messages": [{"role": "HUMAN", "content": "x"}],
                }
            },
            "ValueError",
            ("prompt_template", "messages", 0, "role"),
        ),
        ({"retriever": {"type": "FixKRetriever"}}, "TypeError", ("retriever",)),
        ({"retriever": {"type": "ZeroRetriever", "ice_num": 3}}, "TypeError", ("retriever", "ice_num")),
        ({"retriever": {"type": "MDLRetriever"}}, "TypeError", ("retriever",)),
        ({"retriever": {"type": "DPPRetriever"}}, "TypeError", ("retriever", "type")),
    ],
)
def test_a_failure_names_its_place(infer: dict[str, Any], cause: str, at: tuple[Any, ...]) -> None:
    with pytest.raises(OpenCompassError) as failed:
        build_evaluation_prompt(infer, READER)
    assert (failed.value.cause, failed.value.at) == (cause, at)


@pytest.mark.parametrize("rounds", [True, 5, {"role": "HUMAN"}])
def test_a_meta_template_without_a_list_of_roles_is_refused(rounds: object) -> None:
    with pytest.raises(OpenCompassError):
        build_layout({"round": rounds})


@pytest.mark.parametrize(
    ("infer", "cause"),
    [
        ({"ice_template": {"template": {"round": []}}, "prompt_template": TEMPLATE}, "TypeError"),
        (
            {
                "ice_template": {"type": "RawPromptTemplate", "messages": []},
                "prompt_template": TEMPLATE,
            },
            "TypeError",
        ),
        ({"ice_template": {"template": {"4": "x"}}, "prompt_template": TEMPLATE}, "KeyError"),
        (
            {"ice_template": ICE, "prompt_template": {"template": {"begin": "</E>"}, "ice_token": "</E>"}},
            "KeyError",
        ),
    ],
)
def test_templates_that_do_not_go_together_fail(infer: dict[str, Any], cause: str) -> None:
    with pytest.raises(OpenCompassError) as failed:
        _prompt_of({**infer, "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]}})
    assert failed.value.cause == cause


def test_examples_that_are_texts_are_lost_among_messages() -> None:
    messages = {"type": "RawPromptTemplate", "messages": ["</E>", {"role": "user", "content": "{q}"}]}
    retriever = {"type": "FixKRetriever", "fix_id_list": [0]}
    prompt = _prompt_of({"ice_template": ICE, "prompt_template": messages, "retriever": retriever})
    assert prompt == Messages(({"role": "user", "content": "which house is red"},))


def test_a_column_with_messages_is_unfolded() -> None:
    template = {"type": "RawPromptTemplate", "messages": [{"expand_column": "h"}, {"expand_column": "q"}]}
    evaluation = build_evaluation_prompt({"prompt_template": template}, READER)
    history = [{"role": "user", "content": "{q}"}]
    assert evaluation.generating({"q": "x", "h": history}, "") == Messages(tuple(history))


def test_examples_fall_out_from_the_end_until_the_prompt_fits() -> None:
    infer = {"ice_template": ICE, "prompt_template": TEMPLATE}
    retriever = {"type": "FixKRetriever", "fix_id_list": [0, 1, 2]}
    evaluation = build_evaluation_prompt({**infer, "retriever": retriever}, READER)
    made = fit_prompt(evaluation, TRAIN, TEST[0], [0, 1, 2], count=lambda prompt: len(str(prompt)), limit=50)
    assert (made.prompt, made.picked, made.cuts) == (
        "two and two=4\nthe red house=B\nwhich house is red=",
        (0, 1),
        (64,),
    )


def test_the_model_behind_an_api_gets_neither_its_own_turn_nor_texts() -> None:
    items = ({"section": "begin", "pos": "begin"}, "Be brief.", {"section": "begin", "pos": "end"})
    turns = (
        {"section": "round", "pos": "begin"},
        {"role": "HUMAN", "prompt": "Hi"},
        {"section": "round", "pos": "end"},
    )
    made = lay_out(PromptList((*items, *turns)), build_meta_template(ROLES, is_api=True), "gen")
    assert (made.messages, made.ignored) == (({"role": "USER", "prompt": "Hi"},), ("Be brief.",))


def test_examples_within_a_round_fail_under_a_meta_template() -> None:
    turn = {"role": "HUMAN", "prompt": "{q}"}
    infer = {
        "ice_template": {"template": {"round": [turn]}},
        "prompt_template": {"template": {"round": ["</E>", turn]}, "ice_token": "</E>"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
    }
    prompt = _prompt_of(infer)
    assert (
        lay_out(prompt, build_meta_template(None, is_api=False), "gen").text
        == "two and two\nwhich house is red"
    )
    with pytest.raises(OpenCompassError, match="in the middle of `round`"):
        lay_out(prompt, build_meta_template(ROLES, is_api=False), "gen")


@pytest.mark.parametrize("column", ["input_str", "self"])
def test_a_column_named_as_an_argument_of_opencompass_fails(column: str) -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    evaluation = build_evaluation_prompt({"prompt_template": {"template": template}}, READER)
    with pytest.raises(OpenCompassError, match="rename the column"):
        evaluation.generating({"q": "x", column: "y"}, "")


def test_inputs_are_compared_by_a_template_where_there_is_one() -> None:
    reader = build_reader({**READER, "input_template": {"type": "PromptTemplate", "template": "<{q}|{a}>"}})
    assert reader.input_text(TRAIN[0]) == "<two and two|4>"
    assert build_reader({"input_columns": "q a", "output_column": ""}).input_text(TRAIN[0]) == "two and two 4"
