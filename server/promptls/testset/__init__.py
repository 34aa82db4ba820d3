"""Test data from documents: a knowledge graph, scenarios, and queries with reference answers.

The public names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptls.testset.documents import (
        HeadingSplitter,
        PassageSplitter,
        Pieces,
        Splitter,
        pieces_of,
        read_documents,
    )
    from promptls.testset.extractors import (
        EntityExtractor,
        Extractor,
        HeadingExtractor,
        KeyphraseExtractor,
        SummaryExtractor,
    )
    from promptls.testset.graph import KnowledgeGraph, Node, Relationship
    from promptls.testset.model_asker import AskingSettings, opened_asker
    from promptls.testset.model_extractors import (
        Asker,
        EmbeddingExtractor,
        ModelExtractor,
        model_entities,
        model_keyphrases,
        model_summary,
    )
    from promptls.testset.scenarios import Draw, Group, Persona, Sample, Scenario
    from promptls.testset.synthesis import Samples, generate_sample, generate_samples, rows_of, write_rows
    from promptls.testset.synthesizers import SYNTHESIZERS, QuerySynthesizer, Synthesizer, draw_scenarios
    from promptls.testset.transforms import (
        CosineSimilarityBuilder,
        JaccardSimilarityBuilder,
        Parallel,
        RelationshipBuilder,
        Transform,
        apply_transforms,
        default_transforms,
        transform,
    )

_HOMES = {
    "documents": ["HeadingSplitter", "PassageSplitter", "Pieces", "Splitter", "pieces_of", "read_documents"],
    "extractors": [
        "EntityExtractor",
        "Extractor",
        "HeadingExtractor",
        "KeyphraseExtractor",
        "SummaryExtractor",
    ],
    "graph": ["KnowledgeGraph", "Node", "Relationship"],
    "model_asker": ["AskingSettings", "opened_asker"],
    "model_extractors": [
        "Asker",
        "EmbeddingExtractor",
        "ModelExtractor",
        "model_entities",
        "model_keyphrases",
        "model_summary",
    ],
    "scenarios": ["Draw", "Group", "Persona", "Sample", "Scenario"],
    "synthesis": ["Samples", "generate_sample", "generate_samples", "rows_of", "write_rows"],
    "synthesizers": ["QuerySynthesizer", "SYNTHESIZERS", "Synthesizer", "draw_scenarios"],
    "transforms": [
        "CosineSimilarityBuilder",
        "JaccardSimilarityBuilder",
        "Parallel",
        "RelationshipBuilder",
        "Transform",
        "apply_transforms",
        "default_transforms",
        "transform",
    ],
}
_HOME = {name: f"promptls.testset.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "SYNTHESIZERS",
    "Asker",
    "AskingSettings",
    "CosineSimilarityBuilder",
    "Draw",
    "EmbeddingExtractor",
    "EntityExtractor",
    "Extractor",
    "Group",
    "HeadingExtractor",
    "HeadingSplitter",
    "JaccardSimilarityBuilder",
    "KeyphraseExtractor",
    "KnowledgeGraph",
    "ModelExtractor",
    "Node",
    "Parallel",
    "PassageSplitter",
    "Persona",
    "Pieces",
    "QuerySynthesizer",
    "Relationship",
    "RelationshipBuilder",
    "Sample",
    "Samples",
    "Scenario",
    "Splitter",
    "SummaryExtractor",
    "Synthesizer",
    "Transform",
    "apply_transforms",
    "default_transforms",
    "draw_scenarios",
    "generate_sample",
    "generate_samples",
    "model_entities",
    "model_keyphrases",
    "model_summary",
    "opened_asker",
    "pieces_of",
    "read_documents",
    "rows_of",
    "transform",
    "write_rows",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
