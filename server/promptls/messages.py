"""The messages of conversations, in the module that Ragas has them in."""

from promptls.api.ragas_samples import AIMessage, HumanMessage, ToolCall, ToolMessage

__all__ = ["AIMessage", "HumanMessage", "ToolCall", "ToolMessage"]
