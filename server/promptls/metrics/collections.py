"""The classes of metrics, in the module that Ragas has them in."""

from typing import Any

from promptls.metrics import metric_class


def __getattr__(name: str) -> Any:
    return metric_class(name, __name__)
