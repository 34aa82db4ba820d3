from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptls.models.model import EmbeddingResult
from promptls.testset import (
    CosineSimilarityBuilder,
    EmbeddingExtractor,
    HeadingExtractor,
    HeadingSplitter,
    JaccardSimilarityBuilder,
    KeyphraseExtractor,
    KnowledgeGraph,
    NERExtractor,
    Node,
    Parallel,
    PassageSplitter,
    SummaryExtractor,
    apply_transforms,
    default_transforms,
    read_documents,
    transform,
)
from support.library_documents import CARDS, LENDING, write_documents

TIME = "Time dilation slows a clock that moves. Albert Einstein wrote of it, and `clock_rate` measures it."
SPACE = "The theory of Albert Einstein tells of space. It was hard to see what Albert Einstein meant."


def pieces(text: str, **options: int) -> list[str]:
    return [node.text for node in HeadingSplitter(**options).split(Node({"page_content": text})).nodes]


def test_a_document_is_cut_at_its_headings_and_each_piece_knows_them() -> None:
    made = HeadingSplitter(fewest=0).split(Node({"page_content": CARDS, "source": "cards.md"}))
    assert [node.texts("headings") for node in made.nodes] == [
        ["Library cards"],
        ["Library cards", "Prices"],
        ["Library cards", "Lost cards"],
    ]
    assert {node.properties["source"] for node in made.nodes} == {"cards.md"}
    assert [each.type for each in made.relationships] == ["child"] * 3 + ["next"] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no heading at all", ["no heading at all"]),
        ("```\n# a comment\n```\n# Title\ntext", ["```\n# a comment\n```", "# Title\ntext"]),
        ("Title\n=====\ntext\n\nNext\n----\nmore", ["Title\n=====\ntext", "Next\n----\nmore"]),
        ("a list:\n---\nno title", ["a list:\n---\nno title"]),
        ("before\n\n---\n\nbehind", ["before\n\n---\n\nbehind"]),
        ("", []),
        ("# \n## \n", ["#", "##"]),
    ],
    ids=["plain", "code", "underlined", "longer than its line", "rule", "empty", "no titles"],
)
def test_only_headings_cut(text: str, expected: list[str]) -> None:
    assert pieces(text, fewest=0) == expected


def test_no_text_is_lost_and_no_piece_is_too_long() -> None:
    text = "# T\n\n" + "\n\n".join(f"{'word ' * 40}end {index}." for index in range(30)) + "x" * 3000
    made = pieces(text, limit=500)
    assert max(map(len, made)) <= 500
    assert "".join("".join(made).split()) == "".join(text.split())


def test_a_heading_alone_goes_with_what_it_is_above() -> None:
    assert pieces("# Title\n\n## Part\n\nA sentence that says something.") == [
        "# Title\n\n## Part\n\nA sentence that says something."
    ]


@dataclass(frozen=True)
class Counts:
    """A user's extractor."""

    async def extract(self, node: Node) -> tuple[str, Any]:
        return "length", len(node.text)


async def test_the_extractors_find_what_a_text_holds() -> None:
    node = Node({"page_content": f"# Relativity\n\n{TIME} {SPACE}"})
    found = dict([await each.extract(node) for each in (NERExtractor(), HeadingExtractor(), Counts())])
    assert found["entities"] == ["clock_rate", "Albert Einstein"]
    assert found["headings"] == ["Relativity"]
    name, phrases = await KeyphraseExtractor(limit=3).extract(Node({"page_content": LENDING}))
    assert (name, len(phrases)) == ("keyphrases", 3)
    assert "four weeks" in phrases
    _, reported = await SummaryExtractor(limit=1).extract(Node({"page_content": LENDING}))
    assert reported in " ".join(LENDING.split())


@pytest.mark.parametrize(
    "text", ["", "```\n", "{% if", "| a |\n|---|", "\ud800", "`" * 50, "\0", "\u3002\uff01\uff1f"]
)
async def test_no_text_makes_an_extractor_fail(text: str) -> None:
    node = Node({"page_content": text})
    for extractor in (NERExtractor(), KeyphraseExtractor(), SummaryExtractor(), HeadingExtractor()):
        await extractor.extract(node)
    assert PassageSplitter().split(node).nodes is not None


def test_nodes_that_name_the_same_thing_are_related_by_it() -> None:
    graph = KnowledgeGraph([Node({"page_content": TIME}), Node({"page_content": SPACE})])
    apply_transforms(graph, [NERExtractor(), JaccardSimilarityBuilder("entities")])
    (related,) = graph.relationships
    assert related.properties == {"jaccard_similarity": 0.5, "overlapped_items": ["Albert Einstein"]}
    assert related.bidirectional


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Einstein's theory of relativity changed what we know.", ["Einstein"]),
        ("It is a prediction of Einstein's special theory.", ["Einstein"]),
        ("The theory of Albert Einstein's Nobel Prize speech is short.", ["Albert Einstein", "Nobel Prize"]),
        ("Paris is the capital of a country. Berlin has many people.", ["Paris", "Berlin"]),
        ("It's late in the evening. Today's news are old. People's hopes are high.", []),
        ("Water is what fish live in. Testing was never as hard.", []),
        ("Children played in the garden. Some children's toys are old.", []),
    ],
    ids=[
        "possessive first",
        "possessive",
        "two names",
        "verb after",
        "no names",
        "mass nouns",
        "also lower",
    ],
)
async def test_entities_are_names_alone(text: str, expected: list[str]) -> None:
    assert (await NERExtractor().extract(Node({"page_content": text})))[1] == expected


async def test_the_items_of_one_kind_relate_nodes() -> None:
    nodes = [
        Node({"page_content": text, "entities": {"PER": ["Einstein"], "LOC": [place]}})
        for text, place in (("one", "Ulm"), ("two", "Bern"))
    ]
    graph = KnowledgeGraph(nodes)
    (of_persons,) = await JaccardSimilarityBuilder("entities", "PER").transform(graph)
    assert of_persons.properties["jaccard_similarity"] == 1.0
    assert await JaccardSimilarityBuilder("entities", "LOC").transform(graph) == []
    (of_all,) = await JaccardSimilarityBuilder().transform(graph)
    assert of_all.properties["jaccard_similarity"] == 0.3333


class Directions:
    """Embeddings for three known texts."""

    async def embed(self, texts: Any) -> EmbeddingResult:
        known = {"north": [0.0, 1.0], "north by east": [0.1, 1.0], "east": [1.0, 0.0]}
        return EmbeddingResult([known[text] for text in texts], 1, 0.0)


async def test_nodes_whose_vectors_point_the_same_way_are_related() -> None:
    nodes = [Node({"page_content": text}) for text in ("north", "east", "north by east")]
    graph = await transform(
        KnowledgeGraph(nodes), [EmbeddingExtractor(Directions()), CosineSimilarityBuilder()]
    )
    assert [(each.source, each.target) for each in graph.relationships] == [(nodes[0].id, nodes[2].id)]


async def test_parallel_transforms_see_the_graph_as_it_was_before_them() -> None:
    graph = KnowledgeGraph([Node({"page_content": TIME}), Node({"page_content": SPACE})])
    await transform(graph, [Parallel(NERExtractor(), Counts(), JaccardSimilarityBuilder("entities"))])
    assert {"entities", "length"} <= set(graph.nodes[0].properties)
    assert graph.relationships == ()


async def test_what_is_no_transform_is_refused() -> None:
    with pytest.raises(TypeError, match="int is not a transform"):
        await transform(KnowledgeGraph(), [7])  # type: ignore[list-item]


def test_the_default_transforms_make_the_same_graph_each_time(tmp_path: Path) -> None:
    docs = write_documents(tmp_path)

    def made(name: str) -> str:
        graph = KnowledgeGraph(read_documents([docs], tmp_path))
        apply_transforms(graph, default_transforms(embeddings=False))
        graph.save(tmp_path / name)
        return (tmp_path / name).read_text("utf-8")

    first = made("first.json")
    assert first == made("second.json")
    assert '"docs/cards.md"' in first
    assert str(tmp_path) not in first
    types = {each.type for each in KnowledgeGraph.load(tmp_path / "first.json").relationships}
    assert types >= {"child", "next", "entities_overlap"}
