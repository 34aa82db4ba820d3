"""An OpenCompass meta template: how a model lays out the turns of a dialogue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, key_text, scalar_text


@dataclass(frozen=True, slots=True)
class MetaTemplate:
    """Its `rounds` and `reserved` roles, as far as they are mappings.

    `is_unsure` says that Jinja takes part in the roles, or that they cannot be read.
    """

    mapping: Mapping
    rounds: tuple[Mapping, ...]
    reserved: tuple[Mapping, ...]
    is_unsure: bool

    @property
    def round_roles(self) -> frozenset[str]:
        """The roles of `round`."""
        return frozenset(role for each in self.rounds if (role := scalar_text(each.value("role"))))

    @property
    def roles(self) -> frozenset[str]:
        """The roles of `round` and `reserved_roles`."""
        return self.round_roles | {
            role for each in self.reserved if (role := scalar_text(each.value("role")))
        }

    @property
    def is_api(self) -> bool:
        """Whether it is written for a model behind an API: its roles have an `api_role`."""
        return any(each.entry("api_role") for each in (*self.rounds, *self.reserved))

    @property
    def generates(self) -> bool:
        """Whether a role of `round` is the one that the model writes."""
        words = (scalar_text(each.value("generate")) for each in self.rounds)
        return any((word or "").lower() in {"true", "yes", "on"} for word in words)


def meta_template_of(node: Node) -> MetaTemplate | None:
    """The meta template that a value holds, or None where it is no mapping with a list of rounds."""
    if not isinstance(node, Mapping) or not isinstance(node.value("round"), Sequence):
        return None
    rounds, reserved = tuple(_items(node, "round")), tuple(_items(node, "reserved_roles"))
    is_unsure = any(
        key_text(entry) in {None, "<<"} for mapping in (node, *rounds, *reserved) for entry in mapping.entries
    ) or any(scalar_text(each.value("role")) is None for each in (*rounds, *reserved))
    return MetaTemplate(node, rounds, reserved, is_unsure)


def _items(node: Mapping, key: str) -> Iterator[Mapping]:
    value = node.value(key)
    for item in value.items if isinstance(value, Sequence) else ():
        if isinstance(item, Mapping):
            yield item
