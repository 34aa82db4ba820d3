"""The process that runs a local model: `python -m promptls.models.local_process FILE`.

It reads one JSON request per line from standard input, `{"messages", "parameters", "json_schema"}` or
`{"prompt", "context"}`, and writes one JSON answer per line to standard output: `{"ready": true}` first,
then for each request the result of llama.cpp's chat completions (for a prompt,
`{"log_probabilities", "tokens", "before"}`), or `{"error": {"message", "type"}}`. With `"stream": true` in a
request, lines `{"piece": text}` precede its answer. The process exits when its input ends, even in the
middle of an answer.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from functools import lru_cache
from typing import Any, TextIO

from promptls.embeddings.language_model import CONTEXT_TOKENS, PromptScorer, TooLongError, load
from promptls.models.chat_completions import StreamedAnswer
from promptls.security.processes import claim_standard_output, end_with_owner


def main() -> None:
    """Serve requests until standard input ends."""
    end_with_owner()
    answers = claim_standard_output()  # llama.cpp occasionally writes to it
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    try:
        server = load(sys.argv[1])
    except Exception as error:
        _answer(answers, {"error": {"message": str(error), "type": "load"}})
        raise
    _answer(answers, {"ready": True})
    scorer = PromptScorer(server)
    while True:
        request = json.loads(requests.get())
        if "prompt" in request:
            _answer(answers, _score(scorer, request))
        else:
            _answer(answers, _complete(server, request, answers))


def _read(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    # The client is gone; nobody needs the rest of the answer.
    os._exit(0)


def _complete(server: Any, request: dict[str, Any], answers: TextIO) -> Any:
    body: dict[str, Any] = {**request["parameters"], "messages": request["messages"]}
    if request["json_schema"] is not None:
        try:
            body["grammar"] = _grammar(server, json.dumps(request["json_schema"]))
        except Exception as error:  # noqa: BLE001 - as below
            return {"error": {"message": f"the JSON Schema cannot be used: {error}", "type": "schema"}}
    try:
        if request.get("stream"):
            pieces = StreamedAnswer(lambda piece: _answer(answers, {"piece": piece}))
            streaming = {"stream": True, "stream_options": {"include_usage": True}}
            refused = server.handle_chat_completions({**body, **streaming}, pieces.add)
            return refused if isinstance(refused, dict) and "error" in refused else pieces.answer()
        return server.handle_chat_completions(body)
    except Exception as error:  # noqa: BLE001 - llama.cpp raises many kinds of errors, which all mean that there is no answer
        return {"error": {"message": str(error), "type": type(error).__name__}}


def _score(scorer: PromptScorer, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return scorer.score(request["prompt"], request["context"])._asdict()
    except TooLongError as error:
        kind = "exceed_context_size_error"
        return {"error": {"type": kind, "n_prompt_tokens": error.tokens, "n_ctx": CONTEXT_TOKENS}}
    except Exception as error:  # noqa: BLE001 - as in `_complete`
        return {"error": {"message": str(error), "type": type(error).__name__}}


@lru_cache(maxsize=64)
def _grammar(server: Any, schema: str) -> str:
    """Return a grammar for the answers that `schema` allows.

    Raises an exception if the schema is not supported.
    """
    import xllamacpp

    # Unsupported grammars are silently ignored, while unsupported response formats are reported.
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": json.loads(schema)}}
    question = {"messages": [{"role": "user", "content": "?"}], "max_tokens": 1, "response_format": form}
    answer = server.handle_chat_completions(question)
    if "error" in answer:
        raise ValueError(answer["error"].get("message"))
    # With free white space, a small model may produce blank lines forever. `x-guidance` configures the
    # grammar library (llguidance); it works in grammars, but not in response formats.
    layout = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return str(xllamacpp.json_schema_to_grammar(json.dumps({"x-guidance": layout, **json.loads(schema)})))


def _answer(stream: TextIO, value: Any) -> None:
    stream.write(json.dumps(value) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
