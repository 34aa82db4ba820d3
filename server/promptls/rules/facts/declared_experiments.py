"""The experiments that a file declares, with the places of what they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from promptls.meaning.template import Template
from promptls.rules.rule import Edit, FileContext, Finding, Fix
from promptls.syntax.yaml.nodes import Mapping
from promptls.text.nearest import is_close, nearest
from promptls.text.span import Span

if TYPE_CHECKING:
    from promptls.settings.header import ExperimentKey


class DeclaredExperiment(NamedTuple):
    """An experiment: its name, what is declared, and its data set's absolute path."""

    name: str
    declared: ExperimentKey
    dataset: Path

    def span(self, context: FileContext, *path: str | int) -> Span | None:
        """Where the value under a key of the experiment stands."""
        return context.template.declarations.value_span("experiments", self.name, *path)


class Objection(NamedTuple):
    """What is wrong with a name in an experiment, and the name that was probably meant, if any."""

    message: str
    meant: str | None = None

    @classmethod
    def near(cls, message: str, name: str, candidates: Iterable[str]) -> Objection:
        """What is wrong with `name`; the nearest of the candidates was probably meant."""
        meant = nearest(name, candidates)
        return cls(message, None if meant == name else meant)

    @property
    def text(self) -> str:
        """The message, with a question for what was meant."""
        return self.message if self.meant is None else f"{self.message}; did you mean `{self.meant}`?"

    def finding(self, context: FileContext, span: Span) -> Finding:
        """The finding at the name, which offers what was meant."""
        fixes = () if self.meant is None else (_changed_to(context, span, self.meant),)
        return Finding(span, self.text, fixes)


def declared_experiments(context: FileContext) -> Iterator[DeclaredExperiment]:
    """The experiments of the file itself, in order; none that the project declares."""
    for name, declared in (context.template.declarations.settings.experiments or {}).items():
        yield DeclaredExperiment(name, declared, Path(context.path).parent / declared.dataset)


def name_span(template: Template, name: str) -> Span | None:
    """Where the file declares the experiment: the place of its name."""
    tree = template.declarations.tree
    declared = tree.value("experiments") if tree else None
    entry = declared.entry(name) if isinstance(declared, Mapping) else None
    return entry.key.span if entry else None


def _changed_to(context: FileContext, span: Span, meant: str) -> Fix:
    """The fix that puts another value in the place of one, between the same quotes."""
    written = context.template.source.slice(span)
    quote = written[:1] if written[:1] in {"'", '"'} else ""
    is_sure = is_close(written.strip("'\""), meant)
    return Fix(f"Change to `{meant}`", (Edit(span, f"{quote}{meant}{quote}"),), preferred=is_sure)
