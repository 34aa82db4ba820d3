"""`Dataset`, in the module that Ragas has it in."""

from promptls.datasets.dataset import Dataset

__all__ = ["Dataset"]
