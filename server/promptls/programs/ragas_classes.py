"""The classes and functions of Ragas that programs use: their parameters, results and columns.

Source: `ragas` 0.1.21, 0.2.15, 0.3.9 and 0.4.3. A parameter is listed if any of these releases has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_SHARED: Final = (
    "name",
    "_required_columns",
    "required_columns",
    "evaluation_mode",
    "output_type",
    "max_retries",
    "_reproducibility",
)
"""Parameters of all metrics."""


class MetricClass(NamedTuple):
    """A class of `ragas.metrics`: the name of its results, its columns for a single turn, its parameters."""

    result: str
    needs: tuple[str, ...]
    parameters: frozenset[str]


def _parsed(table: str) -> dict[str, MetricClass]:
    """Return the classes in a table: a line with class and result, then columns and parameters."""
    found = {}
    for entry in re.split(r"\n(?=\S)", table.strip()):
        first, _, rest = entry.partition("\n")
        kind, _, result = first.partition(" ")
        needs, _, parameters = rest.partition("|")
        names = frozenset({*_SHARED, *parameters.split()})
        found[kind] = MetricClass(result, tuple(needs.split()), names)
    return found


METRIC_CLASSES: Final = _parsed(
    """
AgentGoalAccuracyWithReference agent_goal_accuracy
    | llm workflow_prompt compare_outcome_prompt
AgentGoalAccuracyWithoutReference agent_goal_accuracy
    | llm workflow_prompt compare_outcome_prompt
AnswerAccuracy nv_accuracy
    user_input response reference | llm
AnswerCorrectness answer_correctness
    user_input response reference |
    llm embeddings correctness_prompt long_form_answer_prompt weights answer_similarity
    sentence_segmenter statement_generator_prompt beta
AnswerRelevancy answer_relevancy
    user_input response | llm embeddings question_generation strictness
AnswerSimilarity answer_similarity
    response reference | llm embeddings is_cross_encoder threshold
AspectCritic
    | definition llm single_turn_prompt multi_turn_prompt strictness
AspectCritique
    | llm critic_prompt definition strictness
BleuScore bleu_score
    response reference | language kwargs
ChrfScore chrf_score
    response reference | kwargs
ContextEntityRecall context_entity_recall
    retrieved_contexts reference | llm context_entity_recall_prompt batch_size
ContextPrecision context_precision
    user_input retrieved_contexts reference | llm context_precision_prompt
ContextRecall context_recall
    user_input retrieved_contexts reference | llm context_recall_prompt
ContextRelevance nv_context_relevance
    user_input retrieved_contexts | llm
ContextUtilization context_utilization
    user_input response retrieved_contexts | llm context_precision_prompt
DataCompyScore data_compare_score
    response reference | mode metric
ExactMatch exact_match
    response reference |
FactualCorrectness factual_correctness
    response reference |
    llm mode beta atomicity coverage claim_decomposition_prompt nli_prompt language
Faithfulness faithfulness
    user_input response retrieved_contexts |
    llm nli_statements_message statement_prompt sentence_segmenter nli_statements_prompt
    statement_generator_prompt
FaithfulnesswithHHEM faithfulness_with_hhem
    user_input response retrieved_contexts |
    llm nli_statements_prompt statement_generator_prompt device batch_size
FaithulnesswithHHEM
    | llm nli_statements_message statement_prompt sentence_segmenter device batch_size
IDBasedContextPrecision id_based_context_precision
    retrieved_context_ids reference_context_ids |
IDBasedContextRecall id_based_context_recall
    retrieved_context_ids reference_context_ids |
InstanceRubrics
    | llm single_turn_prompt multi_turn_prompt
LLMContextPrecisionWithReference llm_context_precision_with_reference
    user_input retrieved_contexts reference | llm context_precision_prompt
LLMContextPrecisionWithoutReference llm_context_precision_without_reference
    user_input response retrieved_contexts | llm context_precision_prompt
LLMContextRecall context_recall
    user_input retrieved_contexts reference | llm context_recall_prompt
LLMSQLEquivalence llm_sql_equivalence_with_reference
    response reference reference_contexts | llm equivalence_prompt
MultiModalFaithfulness faithful_rate
    response retrieved_contexts | llm faithfulness_prompt
MultiModalRelevance relevance_rate
    user_input response retrieved_contexts | llm relevance_prompt
NoiseSensitivity noise_sensitivity
    user_input response retrieved_contexts reference |
    llm focus nli_statements_message statement_prompt sentence_segmenter mode nli_statements_prompt
    statement_generator_prompt
NonLLMContextPrecisionWithReference non_llm_context_precision_with_reference
    retrieved_contexts reference_contexts | distance_measure threshold
NonLLMContextRecall non_llm_context_recall
    retrieved_contexts reference_contexts | _distance_measure threshold
NonLLMStringSimilarity non_llm_string_similarity
    response reference | distance_measure
ReferenceFreeRubricsScore
    | llm rubrics scoring_prompt
ResponseGroundedness nv_response_groundedness
    response retrieved_contexts | llm
ResponseRelevancy answer_relevancy
    user_input response | llm embeddings question_generation strictness
RougeScore rouge_score
    response reference | rouge_type mode
RubricsScore
    | rubrics llm single_turn_prompt multi_turn_prompt
SemanticSimilarity semantic_similarity
    response reference | embeddings is_cross_encoder threshold
SimpleCriteriaScore
    | definition llm single_turn_prompt multi_turn_prompt strictness
StringPresence string_present
    response reference |
SummarizationScore summary_score
    response reference_contexts |
    llm length_penalty coeff question_generation_prompt answer_generation_prompt
    extract_keyphrases_prompt
ToolCallAccuracy tool_call_accuracy
    | arg_comparison_metric strict_order
ToolCallF1 tool_call_f1
    | batch_size is_multi_turn
TopicAdherenceScore topic_adherence
    | llm mode topic_extraction_prompt topic_classification_prompt topic_refused_prompt
"""
)
"""The classes of `ragas.metrics`, which are not those of `ragas.metrics.collections`."""

INSTANCES: Final = {
    "answer_correctness": "AnswerCorrectness",
    "answer_relevancy": "AnswerRelevancy",
    "answer_similarity": "AnswerSimilarity",
    "context_entity_recall": "ContextEntityRecall",
    "context_precision": "ContextPrecision",
    "context_recall": "ContextRecall",
    "context_utilization": "ContextUtilization",
    "faithfulness": "Faithfulness",
    "summarization_score": "SummarizationScore",
}
"""The metrics that `ragas.metrics` contains, and their classes."""

_PARAMETERS: Final = {
    "EvaluationDataset": ("samples backend name",),
    "LangchainEmbeddingsWrapper": ("embeddings run_config cache",),
    "RunConfig": (
        "timeout thread_timeout max_retries max_wait max_workers exception_types log_tenacity seed",
    ),
    "TestsetGenerator": (
        "llm embedding_model knowledge_graph persona_list llm_context",
        "generator_llm critic_llm embeddings docstore",
    ),
    "evaluate": (
        (
            "dataset metrics llm embeddings callbacks in_ci is_async run_config token_usage_parser "
            "raise_exceptions column_map experiment_name show_progress batch_size return_executor "
            "allow_nest_asyncio at_once _run_id _pbar"
        ),
    ),
}
"""The parameters of other classes and functions, which take no others, newest generation first."""

_METHODS: Final = {
    "generate_with_langchain_docs": (
        "documents test_size distributions with_debugging_logs is_async raise_exceptions run_config",
        (
            "documents testset_size transforms transforms_llm transforms_embedding_model query_distribution "
            "run_config callbacks token_usage_parser with_debugging_logs raise_exceptions return_executor"
        ),
    ),
    "single_turn_ascore": ("sample callbacks timeout",),
    "single_turn_score": ("sample callbacks",),
}
"""The parameters of methods whose names no other library uses."""


_RATIOS: Final = ("precision", "recall", "f1")
CHOICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("DataCompyScore", "metric"): _RATIOS,
    ("DataCompyScore", "mode"): ("rows", "columns"),
    ("FactualCorrectness", "atomicity"): ("low", "high"),
    ("FactualCorrectness", "coverage"): ("low", "high"),
    ("FactualCorrectness", "mode"): _RATIOS,
    ("NoiseSensitivity", "mode"): ("relevant", "irrelevant"),
    ("RougeScore", "mode"): ("fmeasure", "precision", "recall"),
    ("RougeScore", "rouge_type"): (*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum"),
    ("TopicAdherence", "mode"): _RATIOS,
    ("TopicAdherenceScore", "mode"): _RATIOS,
}
"""The values that a parameter of a metric takes."""


def parameters_of_class(name: str, given: frozenset[str]) -> frozenset[str]:
    """Return the parameters of a class or function of Ragas; empty if they are not known.

    Of several generations, it is the one that has most of the `given` arguments.
    """
    metric = METRIC_CLASSES.get(name)
    return metric.parameters if metric is not None else _nearest(_PARAMETERS.get(name, ()), given)


def parameters_of_method(name: str, given: frozenset[str]) -> frozenset[str]:
    """Return the parameters of a method of Ragas; empty if they are not known."""
    return _nearest(_METHODS.get(name, ()), given)


def _nearest(generations: tuple[str, ...], given: frozenset[str]) -> frozenset[str]:
    known = (frozenset(each.split()) for each in generations)
    return max(known, key=lambda each: len(each & given), default=frozenset())
