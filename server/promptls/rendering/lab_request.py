"""What the truncation lab is asked: the chats to grow, and what to try on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptls.rendering.job import RenderJob
from promptls.rendering.values import pack, unpack
from promptls.truncation.prefix_cache import DEFAULT_CACHE


@dataclass(frozen=True, slots=True)
class LabChat:
    """The data of one chat."""

    name: str
    """`row 3`, or the sample's name."""
    source: str
    """Where the data stand, as people say it."""
    data: Mapping[str, Any]
    is_made_up: bool = False
    """Whether its messages are placeholders: then messages of usual lengths stand for them."""


@dataclass(frozen=True, slots=True)
class LabRequest:
    """One exploration."""

    job: RenderJob
    """The template with its present limit and step; its own data are not used."""
    chats: tuple[LabChat, ...]
    """The chats to grow, at least one; the first one's turns are told one by one."""
    keys: tuple[str, ...] = ()
    """The keys that lead to the input which grows; empty to find it."""
    turns: int | None = None
    """How many turns each chat is to have; None for as many as show what the limit does."""
    limits: tuple[int, ...] = ()
    """The limits to try; empty for a choice around the present one."""
    steps: tuple[int, ...] = ()
    """The steps to try; empty for a choice that suits each limit."""
    cache: str = DEFAULT_CACHE
    """The name of the prefix cache to simulate."""

    def to_json(self) -> dict[str, Any]:
        """The request as JSON; raises TypeError or ValueError for data that JSON cannot carry."""
        return {
            "job": self.job.to_json(),
            "chats": [
                {
                    "name": each.name,
                    "source": each.source,
                    "data": pack(each.data),
                    "is_made_up": each.is_made_up,
                }
                for each in self.chats
            ],
            "keys": list(self.keys),
            "turns": self.turns,
            "limits": list(self.limits),
            "steps": list(self.steps),
            "cache": self.cache,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LabRequest:
        """The request that `to_json` wrote."""
        chats = tuple(LabChat(**{**chat, "data": unpack(chat["data"])}) for chat in value["chats"])
        lists = {name: tuple(value[name]) for name in ("keys", "limits", "steps")}
        return cls(**{**value, **lists, "job": RenderJob.from_json(value["job"]), "chats": chats})
