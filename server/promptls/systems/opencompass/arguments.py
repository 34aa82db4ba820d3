"""The arguments of a class of OpenCompass, as Python checks them when it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from promptls.systems.opencompass.failure import OpenCompassError


def check_arguments(
    class_name: str, name: str, config: Mapping[str, Any], known: Collection[str], required: str
) -> None:
    """Raises OpenCompassError as `class_name(…)` would for an argument too many, or without `required`."""
    for key in config:
        if key not in known and key != "type":
            raise OpenCompassError(
                f"`{class_name}` takes no `{key}`.",
                cause="TypeError",
                said=f"{class_name}.__init__() got an unexpected keyword argument '{key}'",
                at=(name, key),
            )
    if required not in config:
        raise OpenCompassError(
            f"`{name}` has no `{required}`.",
            cause="TypeError",
            said=f"{class_name}.__init__() missing 1 required positional argument: '{required}'",
            at=(name,),
        )
