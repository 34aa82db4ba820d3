"""An editor as a client: opens files, types into them, and sends requests like the current client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from lsprotocol import types
from pytest_lsp import LanguageClient

PATIENCE = 20.0
Answer = TypeVar("Answer")


class Editor:
    """A client with its workspace; positions are given in code points and converted for the client."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        encoding = client.answer.capabilities.position_encoding
        self.encoding = str(getattr(encoding, "value", encoding))

    # -- files ------------------------------------------------------------------

    def write(self, name: str, text: str) -> str:
        """Write a file to the disk; return its URI."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path.as_uri()

    def open(self, name: str, text: str) -> str:
        """Write and open a file; return its URI."""
        uri = self.write(name, text)
        self.texts[uri], self.versions[uri] = text, 1
        document = types.TextDocumentItem(uri, "promptls", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return uri

    def close(self, uri: str) -> None:
        """Close the file; closing it again does no harm."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(_id(uri)))

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replace the only occurrence of `old` with `new`, as a minimal edit."""
        text = self.texts[uri]
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text"
        start = text.index(old)
        span = types.Range(self.position(uri, start), self.position(uri, start + len(old)))
        self.texts[uri] = text.replace(old, new)
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        change = types.TextDocumentContentChangePartial(range=span, text=new)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def set_settings(self, settings: dict[str, Any]) -> None:
        """Change the settings, and notify the server."""
        self.client.set_configuration({"promptls": settings})
        self.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"promptls": settings})
        )

    # -- places -----------------------------------------------------------------

    def position(self, uri: str, offset: int) -> types.Position:
        before = self.texts[uri][:offset]
        line_start = before.rfind("\n") + 1
        return types.Position(before.count("\n"), self.units(before[line_start:]))

    def units(self, text: str) -> int:
        codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[
            self.encoding
        ]
        return len(text.encode(codec)) // width

    def at(self, uri: str, words: str) -> types.Position:
        """Return the position of the character after `|` in `words`, which occur once in the text."""
        before, _, behind = words.partition("|")
        assert self.texts[uri].count(before + behind) == 1, f"{words!r} is not there once"
        return self.position(uri, self.texts[uri].index(before + behind) + len(before))

    def range_of(self, uri: str, words: str) -> types.Range:
        start = self.texts[uri].index(words)
        return types.Range(self.position(uri, start), self.position(uri, start + len(words)))

    # -- questions ----------------------------------------------------------------

    @property
    def pulls(self) -> bool:
        return self.client.capabilities.text_document.diagnostic is not None

    async def diagnostics(
        self, uri: str, until: Callable[[list[types.Diagnostic]], bool]
    ) -> list[types.Diagnostic]:
        """Return the document's diagnostics when they fulfill `until`."""

        async def look() -> list[types.Diagnostic]:
            if not self.pulls:
                return list(self.client.diagnostics.get(uri, ()))
            params = types.DocumentDiagnosticParams(_id(uri))
            return list((await self.client.text_document_diagnostic_async(params)).items)

        return await eventually(look, until)

    async def rules(self, uri: str, expected: list[str]) -> list[types.Diagnostic]:
        """Return the diagnostics when they are of the `expected` rules; hints count only if expected."""

        def counting(found: list[types.Diagnostic]) -> list[types.Diagnostic]:
            hint = types.DiagnosticSeverity.Hint
            return [each for each in found if each.severity != hint or each.code in expected]

        return counting(
            await self.diagnostics(
                uri, lambda found: sorted(each.code for each in counting(found)) == sorted(expected)
            )
        )

    async def hover(self, uri: str, words: str) -> str | None:
        params = types.HoverParams(_id(uri), self.at(uri, words))
        found = await self.client.text_document_hover_async(params)
        return found.contents.value if found else None

    async def hints(self, uri: str, until: Callable[[list[types.InlayHint]], bool]) -> list[types.InlayHint]:
        whole = types.Range(types.Position(0, 0), self.position(uri, len(self.texts[uri])))

        async def look() -> list[types.InlayHint]:
            params = types.InlayHintParams(_id(uri), whole)
            return list(await self.client.text_document_inlay_hint_async(params) or ())

        return await eventually(look, until)

    async def lenses(self, uri: str) -> list[str]:
        found = await self.client.text_document_code_lens_async(types.CodeLensParams(_id(uri)))
        return [lens.command.title for lens in found or ()]

    async def command(self, name: str, **arguments: Any) -> Any:
        """Return the command's result, with its keys as attributes."""
        result = await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(f"promptls.{name}", [arguments])
        )
        return json.loads(json.dumps(result), object_hook=lambda found: SimpleNamespace(**found))


async def eventually(look: Callable[[], Awaitable[Answer]], until: Callable[[Answer], bool]) -> Answer:
    """Return the result of `look` when it fulfills `until`; fails with the last result."""
    seen: list[Answer] = []

    async def watch() -> Answer:
        while True:
            seen[:] = [await look()]
            if until(seen[0]):
                return seen[0]
            await asyncio.sleep(0.02)

    try:
        return await asyncio.wait_for(watch(), PATIENCE)
    except asyncio.TimeoutError:
        raise AssertionError(f"it never came to be; the last answer was {seen}") from None


def _id(uri: str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(uri)
