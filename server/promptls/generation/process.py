"""The process that makes test data for an editor: `python -m promptls.generation.process`.

It speaks with the server as `promptls.experiments.process` does, for one `GenerationRequest`.
"""

from __future__ import annotations

from promptls.experiments.events import to_json
from promptls.experiments.process import MayGo, Tell, leave, main
from promptls.generation.prepare import prepared
from promptls.generation.request import GenerationRequest
from promptls.generation.run import generate


async def _generate(request: GenerationRequest, tell: Tell, may_go: MayGo) -> None:
    async with prepared(request) as (plan, planned):
        if await may_go(planned):
            tell(to_json(await generate(plan, lambda event: tell(to_json(event)))))


if __name__ == "__main__":
    leave(main(GenerationRequest, _generate))
