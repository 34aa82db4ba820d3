"""Knowledge graphs: nodes with properties, and relationships between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from promptls.security.files import read_text
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UsageError, UserError

DOCUMENT: Final = "document"
CHUNK: Final = "chunk"
"""The types of nodes; custom nodes may have no type."""

CHILD: Final = "child"
NEXT: Final = "next"
"""The relationships created by splitters: from a document to its pieces, and from a piece to the next."""

CONTENT: Final = "page_content"
SOURCE: Final = "source"
"""The properties with a node's text, and with the file that contains it."""


@dataclass(frozen=True, slots=True, repr=False)
class Node:
    """A document or a piece of a document. `id` defaults to a hash of its content."""

    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    type: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", _id_of("node", self.type, self.properties))

    def __repr__(self) -> str:
        return f"Node(id: {self.id[:6]}, type: {self.type}, properties: {list(self.properties)})"

    @property
    def text(self) -> str:
        """The property `page_content`; empty if it is missing."""
        return str(self.properties.get(CONTENT, ""))

    def texts(self, name: str) -> list[str]:
        """Return a property that is a list of texts; empty if it is missing."""
        value = self.properties.get(name)
        return [str(each) for each in value] if isinstance(value, list | tuple) else []

    def with_properties(self, properties: Mapping[str, Any]) -> Node:
        """Return a copy of the node with additional properties."""
        return replace(self, properties={**self.properties, **properties})


@dataclass(frozen=True, slots=True, repr=False)
class Relationship:
    """A relationship between two nodes, which are referenced by id; a `Node` is replaced by its id."""

    source: str
    target: str
    type: str
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    bidirectional: bool = False

    def __post_init__(self) -> None:
        for end in ("source", "target"):
            node = getattr(self, end)
            if isinstance(node, Node):
                object.__setattr__(self, end, node.id)

    @property
    def id(self) -> str:
        """An id that is determined by the type and the nodes."""
        return _id_of("relationship", self.type, [self.source, self.target])

    def __repr__(self) -> str:
        arrow = "<->" if self.bidirectional else "->"
        nodes = f"Node(id: {self.source[:6]}) {arrow} Node(id: {self.target[:6]})"
        return f"Relationship({nodes}, type: {self.type}, properties: {list(self.properties)})"


class KnowledgeGraph:
    """Ordered nodes by id, and relationships between them.

    The graph is stored with networkx, and accessible with `to_networkx`.
    """

    def __init__(self, nodes: Iterable[Node] = (), relationships: Iterable[Relationship] = ()) -> None:
        """Create a graph; raises `UserError` without networkx, and `UsageError` as `relate` does."""
        self._graph: Any = _networkx().MultiDiGraph()
        for node in nodes:
            self.add(node)
        for relationship in relationships:
            self.relate(relationship)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in insertion order."""
        return tuple(node for _, node in self._graph.nodes(data="node"))

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes that have not been split."""
        cut = {relationship.source for relationship in self.relationships_of(CHILD)}
        return tuple(node for node in self.nodes if node.id not in cut)

    @property
    def relationships(self) -> tuple[Relationship, ...]:
        """All relationships, ordered by their source nodes."""
        return tuple(each for _, _, each in self._graph.edges(data="relationship"))

    def relationships_of(self, *types: str) -> tuple[Relationship, ...]:
        """Return the relationships of these types."""
        return tuple(each for each in self.relationships if each.type in types)

    def node(self, id: str) -> Node:  # noqa: A002 - same name as in the file
        """Return the node with this id; raises KeyError if it does not exist."""
        node: Node = self._graph.nodes[id]["node"]
        return node

    def add(self, node: Node) -> None:
        """Add the node, replacing one with the same id."""
        self._graph.add_node(node.id, node=node)

    def relate(self, relationship: Relationship) -> None:
        """Add the relationship, replacing one of the same type between the same nodes.

        Raises `UsageError` if one of its nodes is not part of the graph.
        """
        for end in (relationship.source, relationship.target):
            if end not in self._graph:
                raise UsageError(
                    f"the relationship `{relationship.type}` leads to the node {end}, which is not in the "
                    "graph",
                    remedy="add the node first",
                )
        self._graph.add_edge(
            relationship.source, relationship.target, key=relationship.type, relationship=relationship
        )

    def to_networkx(self) -> Any:
        """Return a copy as a `MultiDiGraph`; nodes have the attribute `node`, edges `relationship`."""
        return self._graph.copy()

    def save(self, path: Path | str) -> None:
        """Write the graph to `path` as JSON, atomically; raises OSError."""
        value = {
            "nodes": [
                {"id": node.id, "type": node.type, "properties": dict(node.properties)} for node in self.nodes
            ],
            "relationships": [
                {
                    "id": each.id,
                    "type": each.type,
                    "source": each.source,
                    "target": each.target,
                    "bidirectional": each.bidirectional,
                    "properties": dict(each.properties),
                }
                for each in self.relationships
            ],
        }
        with replace_file(Path(path)) as stream:
            json.dump(value, stream, ensure_ascii=False, indent=1, default=str)
            stream.write("\n")

    @classmethod
    def load(cls, path: Path | str) -> KnowledgeGraph:
        """Load a graph written by `save`.

        Raises `UsageError` if the file does not exist, and `UserError` with the location of invalid content.
        """
        path = Path(path)
        try:
            value = json.loads(read_text(path, limit=MAX_GRAPH_BYTES))
        except FileNotFoundError:
            raise UsageError("the graph does not exist", FilePlace(path), "check the path") from None
        except OSError as error:
            raise UserError(f"the graph cannot be read: {error.strerror}", FilePlace(path)) from None
        except json.JSONDecodeError as error:
            place = FilePlace(path, error.lineno - 1, error.colno - 1)
            raise UserError("the graph is not valid JSON from here on", place, _REMEDY) from None
        except (ValueError, RecursionError):
            raise UserError("the graph is not JSON in UTF-8", FilePlace(path), _REMEDY) from None
        nodes, relationships = (_list(value, key, path) for key in ("nodes", "relationships"))
        try:
            return cls(
                [Node(dict(each["properties"]), str(each["type"]), str(each["id"])) for each in nodes],
                [
                    Relationship(
                        str(each["source"]),
                        str(each["target"]),
                        str(each["type"]),
                        dict(each["properties"]),
                        bool(each["bidirectional"]),
                    )
                    for each in relationships
                ],
            )
        except KeyError as error:
            raise UserError(f"something in the graph lacks {error}", FilePlace(path), _REMEDY) from None
        except (TypeError, ValueError):
            raise UserError("something in the graph is not a mapping", FilePlace(path), _REMEDY) from None
        except UsageError as error:
            raise UserError(error.message, FilePlace(path), _REMEDY) from None

    def __repr__(self) -> str:
        return f"KnowledgeGraph(nodes={len(self.nodes)}, relationships={len(self.relationships)})"


def _networkx() -> ModuleType:
    try:
        import networkx as nx
    except ImportError:
        raise UserError(
            "a knowledge graph needs the package `networkx`",
            remedy='run `pip install "promptls[generation]"`',
        ) from None
    module: ModuleType = nx
    return module


def _id_of(*what: Any) -> str:
    written = json.dumps(what, sort_keys=True, ensure_ascii=True, default=str)
    return str(uuid5(NAMESPACE_URL, written))


_REMEDY = "delete the file to make it again from the documents"


MAX_GRAPH_BYTES = 500_000_000
"""The maximum size of a knowledge graph; larger files are not loaded."""


def _list(value: Any, key: str, path: Path) -> list[Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, list):
        raise UserError(f"the file has no list `{key}`, so it is not a graph", FilePlace(path), _REMEDY)
    return found
