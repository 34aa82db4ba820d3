"""The environment variables of model providers' keys, for the editor that asks the user for them."""

from __future__ import annotations

import json

from promptls.models.providers import TABLE


def key_variables() -> str:
    """Return the TypeScript file that lists each variable once, with the provider that reads it."""
    lines = [
        f"  {{ name: {json.dumps(name)}, provider: {json.dumps(provider)} }},"
        for provider, each in TABLE.items()
        for name in each.key_envs
    ]
    return "\n".join(
        [
            "/** Variables in which providers look for a key; `python -m promptls.docgen` writes this. */",
            "export const KEY_VARIABLES: readonly { name: string; provider: string }[] = [",
            *lines,
            "];",
            "",
        ]
    )
