"""Measures the real Prompt Poet; runs in its environment, without promptls.

    python tests/benchmarks/prompt_poet_peer.py JOBS.json

Prints a JSON object with the milliseconds and the result of each job. If the file contains no jobs, it reads
them from standard input, one per line, and answers each with such an object.
"""

from __future__ import annotations

import base64
import json
import logging
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    encode = encoding(request["ranks"]).encode
    if "jobs" not in request:
        for line in sys.stdin:
            print(json.dumps(measured(json.loads(line), encode)), flush=True)
        return
    print(json.dumps([measured(job, encode) for job in request["jobs"]]))


def measured(job: dict[str, Any], encode: Any) -> dict[str, Any]:
    """Return the time of the first rendering, and the median of all others if there are any."""
    from prompt_poet import Prompt

    times, prompt = [], None
    for data in job["data"]:
        started = time.perf_counter()
        prompt = Prompt(
            template_data=data,
            template_path=job["path"],
            encode_func=encode,
            token_limit=job["token_limit"],
            truncation_step=job["truncation_step"],
            from_cache=job["from_cache"],
        )
        if job["is_counted"]:
            prompt.tokenize()
            prompt.truncate()
        text = prompt.string
        times.append(1000 * (time.perf_counter() - started))
    assert prompt is not None
    tokens = len(prompt.tokens) if job["is_counted"] else None
    return {
        "first": times[0],
        "next": statistics.median(times[1:] or times),
        "string": text,
        "tokens": tokens,
    }


def encoding(ranks_path: str) -> Any:
    """Return o200k_base from a file of its ranks, so that nothing is downloaded."""
    import tiktoken
    import tiktoken_ext.openai_public as public

    fields = Path(ranks_path).read_bytes().split()
    ranks = dict(zip(map(base64.b64decode, fields[::2]), map(int, fields[1::2]), strict=True))
    public.load_tiktoken_bpe = lambda *_, **__: ranks
    return tiktoken.Encoding(**public.o200k_base())


if __name__ == "__main__":
    main()
