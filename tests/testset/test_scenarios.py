from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from promptls import MultiTurnSample
from promptls.messages import AIMessage, HumanMessage
from promptls.testset import (
    SYNTHESIZERS,
    Draw,
    Group,
    KnowledgeGraph,
    Node,
    Persona,
    QuerySynthesizer,
    Scenario,
    draw_scenarios,
    generate_samples,
    rows_of,
)
from promptls.testset.scenarios import parse_persona
from promptls.testset.synthesizers import counts_of, parse_distribution
from promptls.text.errors import UsageError, UserError

NODES = [Node({"page_content": f"piece {number}"}) for number in range(6)]
THEMES = ("one", "two", "three")
SINGLE = [Group((node,), THEMES) for node in NODES]
PAIRS_OF_FIVE = [tuple(NODES[index : index + 2]) for index in range(5)]
PAIRS = [Group(pair, THEMES) for pair in combinations(NODES, 2)]


def used(scenarios: list[Scenario]) -> Counter[str]:
    return Counter(node.text for scenario in scenarios for node in scenario.nodes)


@pytest.mark.parametrize(("groups", "count"), [(SINGLE, 12), (SINGLE, 15), (PAIRS, 9), (PAIRS, 40)])
def test_scenarios_cover_the_nodes_evenly(groups: list[Group], count: int) -> None:
    counts = used(Draw(3).take("any", groups, count))
    assert len(counts) == len(NODES)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_two_synthesizers_together_cover_the_nodes_evenly() -> None:
    draw = Draw(1)
    counts = used([*draw.take("single", SINGLE, 3), *draw.take("other", SINGLE, 3)])
    assert set(counts.values()) == {1}


def test_the_same_seed_draws_the_same_and_another_one_others() -> None:
    drawn = [Draw(seed).take("any", PAIRS, 20) for seed in (5, 5, 6)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_theme_comes_again_only_after_all_others() -> None:
    draw = Draw()
    found = [*draw.take("any", SINGLE, 10), *draw.take("any", SINGLE, 8)]
    assert len({(each.nodes, each.theme) for each in found}) == len(NODES) * len(THEMES) == len(found)


def test_as_many_are_drawn_as_asked_for_each_in_another_way() -> None:
    found = Draw().take("any", [Group(pair, ("one",)) for pair in PAIRS_OF_FIVE], 50)
    assert len(found) == len(set(found)) == 50
    one = Draw(styles=["chat"], lengths=["short"]).take("any", [Group((NODES[0],), ("one",))], 50)
    assert len(one) == 3, "there are three personas, and so three combinations"


def test_personas_styles_and_lengths_come_up_evenly() -> None:
    draw = Draw(personas=[Persona("a", "A"), Persona("b", "B")], styles=["chat", "formal"], lengths=["short"])
    combinations = Counter((each.persona.name, each.style) for each in draw.take("any", SINGLE, 8))
    assert set(combinations.values()) == {2}


@pytest.mark.parametrize(
    ("shares", "size", "expected"),
    [
        ({"a": 1, "b": 1}, 5, {"a": 3, "b": 2}),
        ({"a": 0.7, "b": 0.2, "c": 0.1}, 10, {"a": 7, "b": 2, "c": 1}),
        ({"a": 2, "b": 1, "c": 0}, 1, {"a": 1, "b": 0, "c": 0}),
    ],
    ids=["halves", "tenths", "one"],
)
def test_a_distribution_gives_whole_numbers_that_add_up(
    shares: dict[str, float], size: int, expected: dict[str, int]
) -> None:
    assert counts_of(shares, size) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("single_hop=1", "there is no synthesizer `single_hop`; did you mean `single_hop_"),
        ("single_hop_specific=-1", "`-1` is not a share"),
        ("single_hop_specific=much", "`much` is not a share"),
        ("single_hop_specific=0", "the distribution is empty"),
        (",", "the distribution is empty"),
    ],
)
def test_an_invalid_distribution_is_rejected(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_distribution(text, [each.name for each in SYNTHESIZERS])


def test_what_one_kind_of_query_lacks_the_others_make_up_for() -> None:
    graph = KnowledgeGraph([each.with_properties({"entities": list(THEMES)}) for each in NODES])
    drawn = draw_scenarios(
        graph, SYNTHESIZERS, {"single_hop_specific": 1, "multi_hop_specific": 1}, 10, Draw()
    )
    assert [scenario.synthesizer for _, scenario in drawn.scenarios] == ["single_hop_specific"] * 10
    assert drawn.notes == ["the documents offer 0 of 5 scenarios for `multi_hop_specific`"]


def test_a_graph_with_nothing_to_ask_about_is_reported() -> None:
    with pytest.raises(UserError, match="nothing to ask about"):
        draw_scenarios(KnowledgeGraph(NODES), SYNTHESIZERS, {"single_hop_specific": 1}, 3, Draw())


def test_a_synthesizer_of_ones_own_says_what_is_asked() -> None:
    own = QuerySynthesizer("own", "Ask for a name.", lambda graph: [Group(graph.nodes[:2], ("names",))])
    ((synthesizer, scenario),) = draw_scenarios(KnowledgeGraph(NODES), [own], {"own": 1}, 1, Draw()).scenarios
    content = synthesizer.messages(scenario)[-1]["content"]
    assert "piece 0" in content
    assert "piece 1" in content
    assert content.endswith("Ask for a name.\nIt is about: names")


@pytest.mark.parametrize("text", ["nurse", ": looks up doses", "nurse:"])
def test_what_is_no_persona_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a persona"):
        parse_persona(text)


class Chat(QuerySynthesizer):
    """A user's synthesizer that makes its scenarios and samples itself."""

    async def _generate_scenarios(
        self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any
    ) -> list[Scenario]:
        del callbacks
        return [Scenario((node,), style="chat") for node in knowledge_graph.nodes[:n]]

    async def _generate_sample(self, scenario: Scenario, callbacks: Any) -> MultiTurnSample:
        del callbacks
        if scenario.nodes[0] is NODES[1]:
            raise ValueError("nothing to say")
        said = [HumanMessage(content=f"tell me of {scenario.nodes[0].text}"), AIMessage(content="gladly")]
        return MultiTurnSample(user_input=said, reference="it is told")


class NobodyAsks:
    async def ask(self, *_: object, **__: object) -> str:
        raise AssertionError("the synthesizer makes its samples itself")


async def test_a_class_of_ones_own_makes_conversations() -> None:
    chat = Chat()
    scenarios = await chat.generate_scenarios(3, KnowledgeGraph(NODES))
    assert [each.synthesizer for each in scenarios] == ["Chat"] * 3
    drawn = draw_scenarios(KnowledgeGraph(NODES), [chat], {"Chat": 1}, 3, Draw())
    made = await generate_samples(drawn.scenarios, NobodyAsks())
    assert made.left_out == {"`Chat` failed: ValueError: nothing to say": 1}
    first = rows_of(made.samples)[0]
    assert [message["content"] for message in first["user_input"]] == ["tell me of piece 0", "gladly"]
    assert (first["reference"], first["query_style"]) == ("it is told", "chat")


async def test_a_sample_is_made_by_the_model_of_the_synthesizer() -> None:
    node = Node({"page_content": "The library opens at nine on weekdays."})
    own = QuerySynthesizer("own", "Ask for a time.", llm=lambda _: OPENS)
    sample = await own.generate_sample(Scenario((node,), "opening"))
    assert (sample.user_input, sample.reference) == (
        "When does the library open?",
        "The library opens at nine.",
    )


OPENS = '{"query": "When does the library open?", "answer": "The library opens at nine."}'
