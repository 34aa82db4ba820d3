"""The samples that the users of open files have chosen to render with."""

from __future__ import annotations

from typing import Final

from promptls.preview.choice import chosen_sample
from promptls.rendering.samples import Sample
from promptls.text.failure import Failure
from promptls.workspace.snapshot import Snapshot


class ChosenSamples:
    """The choice made for each file, as long as there is such a sample."""

    def __init__(self) -> None:
        self._chosen: Final[dict[str, str | int | None]] = {}

    def choose(self, snapshot: Snapshot, path: str, choice: str | int | None) -> tuple[Sample, bool]:
        """The sample of a name, or row of the data set from 1, and whether it was another one before.

        None chooses the default. Raises Failure where there is no such sample; the former choice stays.
        """
        sample = chosen_sample(snapshot, path, choice)
        is_another = self._chosen.get(path) != choice
        self._chosen[path] = choice
        return sample, is_another

    def sample(self, snapshot: Snapshot, path: str) -> Sample:
        """The data that the file is rendered with; raises Failure where it cannot be read."""
        choice = self._chosen.get(path)
        if choice is not None:
            try:
                return chosen_sample(snapshot, path, choice)
            except Failure:
                del self._chosen[path]  # it was there when it was chosen
        return chosen_sample(snapshot, path, None)

    def forget(self, path: str) -> None:
        """The default is chosen for the file again."""
        self._chosen.pop(path, None)
