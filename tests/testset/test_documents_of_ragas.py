"""Test sets as in the documentation of Ragas, with its import paths below `promptls`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from promptls import SingleTurnSample
from promptls.testset.graph import KnowledgeGraph, Node, Relationship
from promptls.testset.scenarios import Draw, Group, Scenario
from promptls.testset.synthesizers import SYNTHESIZERS, draw_scenarios
from promptls.testset.synthesizers.base_query import QuerySynthesizer
from promptls.testset.transforms import KeyphraseExtractor, Parallel, apply_transforms
from promptls.testset.transforms.extractors import NERExtractor
from promptls.testset.transforms.relationship_builders.traditional import JaccardSimilarityBuilder

TEXTS = (
    "Einstein's theory of relativity changed how we see space and time.",
    "A clock that moves goes slower. That follows from Einstein's special theory of relativity.",
)


@pytest.fixture
def nodes() -> list[Node]:
    return [Node(properties={"page_content": text}) for text in TEXTS]


@pytest.fixture
def builder() -> JaccardSimilarityBuilder:
    return JaccardSimilarityBuilder(
        property_name="entities", key_name="PER", new_property_name="entity_jaccard_similarity"
    )


async def test_what_is_extracted_relates_the_nodes(
    nodes: list[Node], builder: JaccardSimilarityBuilder
) -> None:
    for node in nodes:
        name, found = await NERExtractor().extract(node)
        assert (name, found) == ("entities", ["Einstein"])
        node.properties.update({name: found})  # type: ignore[attr-defined] # as the documents do
    (relationship,) = await builder.transform(KnowledgeGraph(nodes=nodes))
    assert "<->" in repr(relationship)
    assert "type: jaccard_similarity, properties: ['entity_jaccard_similarity'" in repr(relationship)
    assert repr(nodes[0]).endswith("type: , properties: ['page_content', 'entities'])")


def test_the_components_are_applied_in_sequence(nodes: list[Node], builder: JaccardSimilarityBuilder) -> None:
    graph = KnowledgeGraph(nodes=nodes)
    apply_transforms(graph, [NERExtractor(), builder])
    assert [each.type for each in graph.relationships] == ["jaccard_similarity"]


def test_fifty_scenarios_are_drawn_from_twenty_pairs() -> None:
    pairs = [
        [Node(properties={"page_content": f"{side} of {number}"}) for side in ("left", "right")]
        for number in range(20)
    ]
    # Ragas relates the nodes themselves, promptls their ids.
    related = [
        Relationship(one, other, "entities_overlap", {"overlapped_items": [f"E{number}"]}, bidirectional=True)
        for number, (one, other) in enumerate(pairs)
    ]
    graph = KnowledgeGraph([node for pair in pairs for node in pair], related)
    drawn = draw_scenarios(graph, SYNTHESIZERS, {"multi_hop_specific": 1}, 50, Draw())
    assert len({scenario for _, scenario in drawn.scenarios}) == 50
    assert len({scenario.nodes for _, scenario in drawn.scenarios}) == 20


def test_a_graph_of_two_nodes_has_as_many_scenarios_as_asked_for(
    nodes: list[Node], builder: JaccardSimilarityBuilder
) -> None:
    graph = KnowledgeGraph(nodes=nodes)
    apply_transforms(graph, [Parallel(KeyphraseExtractor(), NERExtractor()), builder])
    drawn = draw_scenarios(graph, SYNTHESIZERS, {"multi_hop_specific": 1}, 20, Draw())
    assert drawn.notes == []
    assert len({scenario for _, scenario in drawn.scenarios}) == 20
    assert {scenario.theme for _, scenario in drawn.scenarios} == {"Einstein"}


async def test_a_synthesizer_of_ones_own_needs_two_methods(nodes: list[Node]) -> None:
    class Entities(QuerySynthesizer):
        async def _generate_scenarios(
            self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any
        ) -> list[Scenario]:
            del callbacks
            return Draw().take(self.name, [Group(knowledge_graph.nodes, ("Einstein",))], n)

        async def _generate_sample(self, scenario: Scenario, callbacks: Any) -> SingleTurnSample:
            del callbacks
            contexts = [node.text for node in scenario.nodes]
            return SingleTurnSample(user_input=scenario.theme, reference_contexts=contexts, reference="a")

    synthesizer = Entities()
    assert synthesizer.name == "Entities"
    first, _ = await synthesizer.generate_scenarios(
        n=2, knowledge_graph=KnowledgeGraph(nodes), callbacks=None
    )
    sample = await synthesizer.generate_sample(first)
    assert (sample.user_input, sample.reference_contexts) == ("Einstein", list(TEXTS))


async def test_scenarios_may_be_objects_of_ones_own(nodes: list[Node]) -> None:
    @dataclass
    class Pairs(QuerySynthesizer):
        async def _generate_scenarios(self, n: int, knowledge_graph: KnowledgeGraph, callbacks: Any) -> Any:
            del callbacks
            return [knowledge_graph.nodes] * n

        async def _generate_sample(self, scenario: Any, callbacks: Any) -> SingleTurnSample:
            del callbacks
            return SingleTurnSample(user_input="q", reference_contexts=[node.text for node in scenario])

    scenarios = await Pairs().generate_scenarios(2, KnowledgeGraph(nodes))
    sample = await Pairs().generate_sample(scenarios[1])
    assert sample.to_dict() == {"user_input": "q", "reference_contexts": list(TEXTS)}


def test_a_misspelled_field_of_a_sample_is_left_out_with_a_warning() -> None:
    """The documentation writes `reference_contexs`, which Ragas drops silently."""
    with pytest.warns(UserWarning, match="no field `reference_contexs`; did you mean `reference_contexts`"):
        sample = SingleTurnSample.model_validate(
            {"user_input": "q", "reference_contexs": ["c"], "reference": "r"}
        )
    assert sample.to_dict() == {"user_input": "q", "reference": "r"}
