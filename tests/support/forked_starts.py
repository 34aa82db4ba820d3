"""Starting the processes of promptls by a fork, on Linux.

To render or to run an experiment, promptls starts a process of Python, which takes half a second for its
modules and a vocabulary, and the tests do so more than a thousand times. Here, one process for each main
module does that once, and forks for each start. A small program stands in for the process: it hands over its
streams, its environment and its folder, ends as the fork ends, and takes the fork with it when it is killed.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

RENDERS = "promptls.rendering.process"
MODULES = (RENDERS, "promptls.experiments.process", "promptls.results_view.results_process")
"""The main modules of the processes that are forked."""

_STAND_IN = """\
import array, json, os, socket, sys
streams = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)]
forking = socket.socket(socket.AF_UNIX)
forking.connect(sys.argv[1])
start = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ), streams]).encode()
handles = array.array("i", streams)
forking.sendmsg([b"%16d" % len(start)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
forking.sendall(start)
os.closerange(0, forking.fileno())
code = int(forking.recv(16))
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""
_ABOVE_STREAMS = 256


@contextmanager
def forked_starts() -> Iterator[None]:
    """Fork the processes that `asyncio.create_subprocess_exec` starts with one of the main modules."""
    if sys.platform != "linux":
        yield
        return
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as forking:
        folder = Path(name)

        def prepare(module: str) -> None:
            for needed in (module, RENDERS):  # a run renders
                if not (folder / needed).exists():
                    forking.enter_context(_forking(folder / needed))

        with _started_at(folder, prepare):
            yield


@contextmanager
def _started_at(folder: Path, prepare: Any = None) -> Iterator[None]:
    """Start processes through the sockets in the folder, which are named after the main modules."""
    start = asyncio.create_subprocess_exec

    async def start_fork(program: Any, *words: Any, **options: Any) -> asyncio.subprocess.Process:
        if program == sys.executable and words[0] == "-m" and words[1] in MODULES:
            if prepare is not None:
                prepare(words[1])
            words = ("-I", "-S", "-c", _STAND_IN, str(folder / words[1]), *words[1:])
        return await start(program, *words, **options)

    asyncio.create_subprocess_exec = start_fork  # type: ignore[assignment]
    try:
        yield
    finally:
        asyncio.create_subprocess_exec = start


@contextmanager
def _forking(address: Path) -> Iterator[None]:
    """Run the process that forks; connections wait until it has loaded its modules."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(64)
        command = [sys.executable, __file__, str(address), str(listener.fileno())]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])
    with process:
        yield
        process.kill()


class Forking:
    """Forks for each connection, and tells it how the fork ended."""

    def __init__(self, address: Path, listener: socket.socket) -> None:
        self._address = address
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin, selectors.EVENT_READ, sys.exit)  # the tests have ended

    def run(self) -> NoReturn:
        while True:
            for key, _ in self._selector.select():
                if key.fd in self._selector.get_map():
                    key.data()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        length, rights, _, _ = connection.recvmsg(16, socket.CMSG_SPACE(_ABOVE_STREAMS))
        handles = array.array("i", b"".join(data for _, _, data in rights))
        start = b""
        while len(start) < int(length):
            start += connection.recv(1 << 20)
        pid = os.fork()
        if pid == 0:
            words, folder, environment, streams = json.loads(start)
            self._become(words, folder, environment, dict(zip(streams, handles, strict=True)))
        for handle in handles:
            os.close(handle)
        ended = os.pidfd_open(pid)

        def tell() -> None:
            self._selector.unregister(ended)
            self._selector.unregister(connection)
            os.close(ended)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with contextlib.suppress(OSError), connection:
                connection.sendall(b"%d" % code)

        self._selector.register(ended, selectors.EVENT_READ, tell)
        self._selector.register(connection, selectors.EVENT_READ, lambda: os.kill(pid, signal.SIGKILL))

    def _become(
        self, words: list[str], folder: str, environment: dict[str, str], streams: dict[int, int]
    ) -> NoReturn:
        """Run the module as `python -m` would."""
        code = 1
        try:
            for stream, handle in streams.items():
                os.dup2(handle, _ABOVE_STREAMS + stream)
            os.closerange(0, _ABOVE_STREAMS)
            for stream in streams:
                os.dup2(_ABOVE_STREAMS + stream, stream)
            os.closerange(_ABOVE_STREAMS, 2 * _ABOVE_STREAMS)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            sys.path.insert(0, folder)
            sys.argv[1:] = words[1:]
            del sys.modules[words[0]]
            with _started_at(self._address.parent):
                runpy.run_module(words[0], run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else 0
        except BaseException:  # noqa: BLE001 - told as Python tells it
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            os._exit(code)


def main(address: Path, listener: socket.socket) -> NoReturn:
    """Load the module that the socket is named after, and fork for each connection."""
    sys.path.pop(0)
    importlib.import_module(address.name)
    if address.name == RENDERS:
        from promptls.tokens.encodings import load

        load("o200k_base")
        load("cl100k_base")
    Forking(address, listener).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
