from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from promptls.testset import KnowledgeGraph, Node, Relationship
from promptls.text.errors import UsageError, UserError

ONE = Node({"page_content": "one", "entities": ["A", "B"]}, "chunk")
OTHER = Node({"page_content": "other — «ü»"})
NOWHERE = {"source": "a", "target": "b", "type": "t", "properties": {}, "bidirectional": False}
DANGLING = json.dumps({"nodes": [], "relationships": [NOWHERE]})


def test_a_graph_that_is_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    related = Relationship(
        ONE.id, OTHER.id, "jaccard_similarity", {"overlapped_items": ["A"]}, bidirectional=True
    )
    KnowledgeGraph([ONE, OTHER], [related]).save(tmp_path / "graph.json")
    loaded = KnowledgeGraph.load(tmp_path / "graph.json")
    assert loaded.nodes == (ONE, OTHER)
    assert loaded.relationships == (related,)


def test_the_file_has_the_form_in_which_ragas_keeps_its_graphs(tmp_path: Path) -> None:
    KnowledgeGraph([ONE, OTHER], [Relationship(ONE.id, OTHER.id, "next")]).save(tmp_path / "graph.json")
    value = json.loads((tmp_path / "graph.json").read_text("utf-8"))
    assert {key for node in value["nodes"] for key in node} == {"id", "type", "properties"}
    assert set(value["relationships"][0]) == {
        *("id", "type", "source", "target", "bidirectional", "properties"),
    }


def test_the_id_of_a_node_depends_on_its_content_only() -> None:
    again = Node({"entities": ["A", "B"], "page_content": "one"}, "chunk")
    assert again.id == ONE.id != Node({"page_content": "one"}, "chunk").id
    assert ONE.with_properties({"summary": "s"}).id == ONE.id


def test_networkx_can_walk_a_copy_of_it() -> None:
    import networkx as nx

    graph = KnowledgeGraph([ONE, OTHER], [Relationship(ONE.id, OTHER.id, "next")])
    walked = graph.to_networkx()
    assert nx.shortest_path(walked, ONE.id, OTHER.id) == [ONE.id, OTHER.id]
    walked.clear()
    assert len(graph.nodes) == 2


def test_a_relationship_to_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="leads to the node nowhere"):
        KnowledgeGraph([ONE], [Relationship(ONE.id, "nowhere", "next")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": [}', "not valid JSON from here on"),
        ("[]", "no list `nodes`"),
        ('{"nodes": []}', "no list `relationships`"),
        ('{"nodes": [{"id": "a"}], "relationships": []}', "lacks 'properties'"),
        ('{"nodes": [7], "relationships": []}', "not a mapping"),
        (
            DANGLING,
            "not in the graph",
        ),
    ],
    ids=["broken", "list", "no relationships", "no properties", "number", "no such node"],
)
def test_a_file_that_is_no_graph_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "graph.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message) as failure:
        KnowledgeGraph.load(tmp_path / "graph.json")
    assert failure.value.place is not None
    assert failure.value.place.path == tmp_path / "graph.json"


def test_without_networkx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(UserError, match="needs the package `networkx`") as failure:
        KnowledgeGraph()
    assert failure.value.remedy == 'run `pip install "promptls[generation]"`'
