"""The metric classes, under the import path that Ragas uses."""

from typing import Any

from promptls.metrics import metric_class


def __getattr__(name: str) -> Any:
    return metric_class(name, __name__)
