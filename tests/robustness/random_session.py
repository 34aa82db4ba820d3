"""A long session of random messages, after which the server's answers must be correct.

    make fuzz                                                          100,000 messages
    PYTHONPATH=tests python tests/robustness/random_session.py --messages 5000 --seed 7

From time to time, a fresh server opens the same folder, settings and texts, and both receive every kind of
request: their answers must be equal. Every request is answered once, none fails, and none takes too long.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from session_client import Connection, Json
from session_clients import CLIENTS
from session_documents import TEXTS, Document, random_edit, random_offset, random_position
from session_requests import POSITIONAL, WHOLE, Answers, params_of, requests_of
from session_workspace import FILES, SETTINGS, prepared, random_file_change

MAX_PENDING = 30
_OF_ONE_ANSWER = frozenset({"resultId", "seconds"})
IDLE_SECONDS = 20.0
"""The maximum seconds for asynchronous results, such as renderings, until two servers agree."""


class Session:
    """A server under random messages, and its client's state."""

    def __init__(self, folder: Path, seed: int, client: str | None = None) -> None:
        self.dice = random.Random(seed)
        self.folder = folder
        self.name = client or self.dice.choice(list(CLIENTS))
        self.capabilities = CLIENTS[self.name]
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / ".cache")}
        self.root = folder / "project"
        prepared(self.root)
        self.settings: Json = {}
        self.roots = [self.root]
        self.documents: dict[str, Document] = {}
        self.answers = Answers()
        self.connection, self.encoding = self._started()
        self.steps = [
            (60, self.edit),
            (25, self.ask_something),
            (3, self.open),
            (2, self.close_one),
            (1.5, self.save),
            (2, self.change_file),
            (0.7, self.change_settings),
            (0.3, self.change_folders),
            (3, self.ask_and_cancel),
            (2, self.send_garbage),
        ]

    def _started(self) -> tuple[Connection, str]:
        connection = Connection(self.settings, self.environment, self.folder)
        folders = [{"uri": root.as_uri(), "name": root.name} for root in self.roots]
        initialized = connection.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": self.roots[0].as_uri() if self.roots else None,
                "workspaceFolders": folders,
                "capabilities": self.capabilities,
            },
        )
        connection.notify("initialized", {})
        if self.settings and not self._pulls_settings:
            connection.notify("workspace/didChangeConfiguration", {"settings": {"promptls": self.settings}})
        return connection, initialized["result"]["capabilities"].get("positionEncoding", "utf-16")

    @property
    def _pulls_settings(self) -> bool:
        return bool(self.capabilities.get("workspace", {}).get("configuration"))

    @property
    def _pulls_diagnostics(self) -> bool:
        return "diagnostic" in self.capabilities.get("textDocument", {})

    # -- messages -----------------------------------------------------------------

    def step(self) -> None:
        """Send a random message, or a few related ones."""
        if not self.documents:
            self.open()
        weights = [weight for weight, _ in self.steps]
        self.dice.choices([act for _, act in self.steps], weights)[0]()
        connection = self.connection
        connection.take_incoming()
        if len(connection.pending) > MAX_PENDING:
            connection.wait(lambda: not connection.pending)
        self._take_answers()

    def _take_answers(self) -> None:
        for answer in self.connection.answers.values():
            self._look_at(answer)
        self.connection.answers.clear()

    def _look_at(self, answer: Json) -> None:
        if "error" in answer:
            assert answer["error"]["code"] != -32603, answer
        else:
            self.answers.keep(answer["result"])

    def _uri(self) -> str:
        return self.dice.choice(list(self.documents))

    def edit(self) -> None:
        uri = self._uri()
        document = self.documents[uri]
        document.version += 1
        changes = [
            random_edit(self.dice, document, self.encoding) for _ in range(self.dice.choice([1, 1, 1, 3]))
        ]
        params = {"textDocument": {"uri": uri, "version": document.version}, "contentChanges": changes}
        self.connection.notify("textDocument/didChange", params)

    def ask_something(self) -> None:
        method = self.dice.choice(requests_of(self.capabilities))
        self.connection.request(method, self._params(method))

    def _params(self, method: str) -> Json:
        uri = self._uri() if self.dice.random() < 0.97 else (self.root / "gone.yml.j2").as_uri()
        text = self.documents[uri].text if uri in self.documents else "- name: a\n"
        places = [random_position(self.dice, text, self.encoding) for _ in range(2)]
        # What was answered by now is a matter of time, and must not change what comes after.
        return params_of(method, uri, places, self.answers, random.Random(self.dice.random()))

    def open(self) -> None:
        uri = self.dice.choice([*((self.root / name).as_uri() for name in FILES), "untitled:Untitled-1"])
        text = self.dice.choice(TEXTS)
        self.documents[uri] = Document(text)
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
        self.connection.notify("textDocument/didOpen", {"textDocument": document})

    def close_one(self) -> None:
        uri = self._uri()
        del self.documents[uri]
        self.connection.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def save(self) -> None:
        uri = self._uri()
        if uri.startswith("file:"):
            path = self.root / unquote(uri.removeprefix(self.root.as_uri() + "/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.documents[uri].text.encode("utf-8", "surrogatepass"))
        self.connection.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def change_file(self) -> None:
        for method, params in random_file_change(self.dice, self.root, self.documents):
            self.connection.notify(method, params)

    def change_settings(self) -> None:
        self.settings = self.dice.choice(SETTINGS)
        self.connection.settings = self.settings
        params = {"settings": None if self._pulls_settings else {"promptls": self.settings}}
        self.connection.notify("workspace/didChangeConfiguration", params)

    def change_folders(self) -> None:
        other = self.root / "sections"
        folder = {"uri": other.as_uri(), "name": other.name}
        event: Json = {"added": [], "removed": []}
        if other in self.roots:
            self.roots.remove(other)
            event["removed"].append(folder)
        else:
            self.roots.append(other)
            event["added"].append(folder)
        self.connection.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def ask_and_cancel(self) -> None:
        self.ask_something()
        running = list(self.connection.pending) or [0]
        self.connection.notify("$/cancelRequest", {"id": random.Random(self.dice.random()).choice(running)})

    def send_garbage(self) -> None:
        method = self.dice.choice(
            [*requests_of(self.capabilities), "nobody/knows", "workspace/executeCommand"]
        )
        rubbish: list[Any] = [None, [], {}, 7, "x", {"textDocument": 7}, {"textDocument": {"uri": "::%%"}}]
        rubbish += [{"textDocument": {"uri": self._uri()}, "position": {"line": -1, "character": "x"}}]
        rubbish += [{"command": "promptls.none"}, {"command": "promptls.preview", "arguments": [7]}]
        params = self.dice.choice(rubbish)
        number = self.connection.request(method, params)
        self.connection.wait(lambda: number in self.connection.answers)
        del self.connection.answers[number]  # any answer will do
        self.connection.notify(self.dice.choice(["$/unknown", "textDocument/didChange"]), params)

    # -- comparing ------------------------------------------------------------------

    def assert_as_fresh(self) -> None:
        """Assert that a fresh server gives the same answers about all open documents."""
        self.connection.wait(lambda: not self.connection.pending)
        self._take_answers()
        fresh, _ = self._started()
        try:
            for uri, document in self.documents.items():
                item = {
                    "uri": uri,
                    "languageId": "promptls",
                    "version": document.version,
                    "text": document.text,
                }
                fresh.notify("textDocument/didOpen", {"textDocument": item})
            questions = self._questions()
            end = time.monotonic() + IDLE_SECONDS
            while True:
                differing = self._first_difference(questions, fresh)
                if differing is None:
                    break
                if time.monotonic() > end:
                    method, params, old, new = differing
                    where = params.get("textDocument", params), params.get("position")
                    raise AssertionError(f"{method} of {where}: {_difference(old, new)}")
                questions.insert(0, questions.pop(questions.index(differing[:2])))  # it is looked at first
                time.sleep(0.05)
            fresh.close()
        finally:
            fresh.kill()
        self._assert_no_errors()

    def _questions(self) -> list[tuple[str, Json]]:
        found: list[tuple[str, Json]] = []
        for uri, document in self.documents.items():
            end = random_offset(random.Random(0), document.text)
            whole = [{"line": 0, "character": 0}, {"line": 10**6, "character": 0}]
            found += [
                (method, params_of(method, uri, whole, Answers(), random.Random(0)))
                for method in requests_of(self.capabilities)
                if method in WHOLE
            ]
            for _ in range(3 if end else 1):
                places = [random_position(self.dice, document.text, self.encoding) for _ in range(2)]
                found += [
                    (method, params_of(method, uri, places, Answers(), random.Random(0)))
                    for method in requests_of(self.capabilities)
                    if method in POSITIONAL
                ]
            # What the prompt renders to, so that no character can be other than the client's.
            found.append(
                ("workspace/executeCommand", {"command": "promptls.preview", "arguments": [{"uri": uri}]})
            )
        if not self._pulls_diagnostics:
            found += [("published", {"uri": uri}) for uri in self.documents]
        return found

    def _first_difference(
        self, questions: list[tuple[str, Json]], fresh: Connection
    ) -> tuple[str, Json, Any, Any] | None:
        for method, params in questions:
            if method == "textDocument/inlayHint" and _fails_to_render(fresh, params["textDocument"]["uri"]):
                continue  # unchanged parts have the counts of the last rendering, which a fresh server lacks
            old, new = (_said(each, method, params) for each in (self.connection, fresh))
            if old != new:
                return method, params, old, new
        return None

    def _assert_no_errors(self) -> None:
        text = self.connection.error_text()
        failed = re.search(
            r"^ERROR (?!.* is refused: )[^\n]*(?:\n(?!ERROR|WARNING)[^\n]*)*", text, re.MULTILINE
        )
        assert failed is None, failed[0][-3000:]
        assert self.connection.process.poll() is None

    def close(self) -> None:
        self.connection.close()


def _fails_to_render(connection: Connection, uri: str) -> bool:
    params = {"command": "promptls.preview", "arguments": [{"uri": uri}]}
    answer = connection.ask("workspace/executeCommand", params)
    return "error" in answer or bool(answer["result"]["failure"])


def _said(connection: Connection, method: str, params: Json) -> Any:
    if method == "published":
        connection.take_incoming()
        return connection.published.get(params["uri"], [])
    answer = connection.ask(method, params)
    if "error" in answer:
        return answer["error"]["code"]
    return _without_ids(answer["result"])


def _difference(old: Any, new: Any) -> str:
    """Return the first difference between two answers."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        key = next(key for key in old if old[key] != new[key])
        return f"{key}: {_difference(old[key], new[key])}"
    if isinstance(old, list) and isinstance(new, list):
        for index, (first, second) in enumerate(zip(old, new, strict=False)):
            if first != second:
                return f"{index} of {len(old)} and {len(new)}: {_difference(first, second)}"
        shared = min(len(old), len(new))
        return f"from {shared} on: {old[shared:]} and fresh {new[shared:]}"
    return f"{old!r} and fresh {new!r}"


def _without_ids(value: Any) -> Any:
    """Return the value without what always differs: ids and durations."""
    if isinstance(value, dict):
        return {key: _without_ids(its) for key, its in value.items() if key not in _OF_ONE_ANSWER}
    return [_without_ids(each) for each in value] if isinstance(value, list) else value


def run(
    messages: int, seed: int, check_every: int, *, client: str | None = None, talk: bool = False
) -> dict[str, float]:
    """Run a session, by default with a random client; return the slowest answer to each method in seconds."""
    with tempfile.TemporaryDirectory() as name:
        session = Session(Path(name).resolve(), seed, client)
        done = 0
        try:
            for done in range(1, messages + 1):
                session.step()
                if done % check_every == 0 or done == messages:
                    session.assert_as_fresh()
                    if talk:
                        print(f"{done} messages of seed {seed} as {session.name}: right", flush=True)
            session.close()
        except AssertionError as error:
            texts = {uri: document.text for uri, document in session.documents.items()}
            error.args = (f"seed {seed} ({session.name}), message {done}: {error}\n{texts}",)
            raise
        finally:
            session.connection.kill()
        return session.connection.slowest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1, help="of the first session (default: 1)")
    parser.add_argument("--sessions", type=int, default=10, help="to spread them over (default: 10)")
    parser.add_argument("--check-every", type=int, default=500, help="messages between two comparisons")
    arguments = parser.parse_args()
    slowest: dict[str, float] = {}
    for seed in range(arguments.seed, arguments.seed + arguments.sessions):
        each = run(arguments.messages // arguments.sessions, seed, arguments.check_every, talk=True)
        slowest = {name: max(each.get(name, 0), slowest.get(name, 0)) for name in {**slowest, **each}}
    for method, seconds in sorted(slowest.items(), key=lambda item: -item[1]):
        print(f"{1000 * seconds:8.0f} ms at most  {method}")


if __name__ == "__main__":
    main()
