"""The names that an evaluation prompt uses for classes and roles. Plain tables.

Source: OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

INFERENCERS: Mapping[str, str] = {
    "GenInferencer": "The model writes the answer.",
    "PPLInferencer": "One prompt for each label; the one with the lowest perplexity wins.",
    "CLPInferencer": "The label with the highest conditional log probability wins.",
    "LLInferencer": "The label with the highest log likelihood wins.",
    "ChatInferencer": "The model answers a conversation of several turns.",
}
"""Values of an inferencer's `type`, with how the model is asked."""

LABEL_INFERENCERS: frozenset[str] = frozenset({"PPLInferencer", "LLInferencer"})
"""Inferencers that weigh one prompt for each label."""

CHAT_INFERENCERS: frozenset[str] = frozenset({"ChatInferencer", "AgentInferencer"})
"""Inferencers that ask the turns of a chat one by one, and show no in-context examples."""

MORE_INFERENCERS: frozenset[str] = frozenset(
    {
        "AgentInferencer", "AttackInferencer", "ChatMLInferencer", "GLMChoiceInferencer",
        "InferencePPLOnlyInferencer", "MinKPercentInferencer", "ParallelGenInferencer", "PPLOnlyInferencer",
        "SCInferencer", "SWCELossInferencer", "ToTInferencer",
    }
)  # fmt: skip
"""Inferencers for special purposes."""

TEMPLATE_TYPES: Mapping[str, str] = {
    "PromptTemplate": "A text, a dialogue, or one of either for each label.",
    "RawPromptTemplate": "Messages in the OpenAI format; nothing is masked.",
}
"""Values of a template's `type`."""

DIALOGUE_ROLES: Mapping[str, str] = {
    "HUMAN": "The person who asks.",
    "BOT": "The model.",
    "SYSTEM": "Instructions before the dialogue; give it a `fallback_role`, as not every model knows it.",
}
"""Roles that dialogues use by custom."""

MESSAGE_ROLES: Mapping[str, str] = {
    "system": "Instructions ahead of the conversation.",
    "user": "The person who asks.",
    "assistant": "The model.",
}
"""Roles of the messages of a `RawPromptTemplate`."""

USUAL_ICE_MARK = "</E>"
"""The `ice_token`, the mark for in-context examples that configurations use by custom."""
