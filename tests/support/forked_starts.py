"""Starts the processes of promptls by fork, on Linux.

Loading promptls and a vocabulary takes half a second, and the tests start thousands of processes. Here, one
process per main module loads them once, and forks for each start. A small program replaces the started
process: it passes its streams, environment and folder to the fork, forwards signals, and exits like the fork.
If it is killed, the fork is killed too.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import pkgutil
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
MODULES = ("promptls", RENDERS, "promptls.experiments.process", "promptls.results_view.results_process")
"""The main modules of the processes that are forked."""
STARTS = subprocess.Popen
"""The function that starts processes as users do."""

_STAND_IN = """\
import array, json, os, _signal, socket, sys
streams = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)]
forking = socket.socket(socket.AF_UNIX)
forking.connect(sys.argv[1])
start = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ), streams]).encode()
handles = array.array("i", streams)
forking.sendmsg([b"%16d" % len(start)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
forking.sendall(start)
os.closerange(0, forking.fileno())
pid = int(forking.recv(16, socket.MSG_WAITALL))
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(number, lambda number, _frame: os.kill(pid, number))
code = int(forking.recv(16, socket.MSG_WAITALL))
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL) if -code != _signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""
_ABOVE_STREAMS = 256


@contextmanager
def forked_starts() -> Iterator[None]:
    """Fork processes that are started with `-m` and one of the main modules."""
    if sys.platform != "linux":
        yield
        return
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as forking:
        folder = Path(name)

        def prepare(module: str) -> None:
            for needed in (module, RENDERS):  # most others start one that renders
                if not _address(folder, needed).exists():
                    forking.enter_context(_forking(_address(folder, needed)))

        with _started_at(folder, prepare):
            yield


def _address(folder: Path, module: str) -> Path:
    return folder / str(MODULES.index(module))


@contextmanager
def _started_at(folder: Path, prepare: Any = None) -> Iterator[None]:
    """Start processes through the sockets in the folder."""

    class Popen(STARTS):  # type: ignore[misc, valid-type]
        def __init__(self, args: Any, *more: Any, **options: Any) -> None:
            if isinstance(args, list | tuple) and tuple(args[:2]) == (sys.executable, "-m"):
                module = args[2]
                if module in MODULES:
                    if prepare is not None:
                        prepare(module)
                    address = _address(folder, module)
                    if address.exists():
                        args = [sys.executable, "-I", "-S", "-c", _STAND_IN, address, *args[2:]]
            super().__init__(args, *more, **options)

    subprocess.Popen = Popen  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = STARTS  # type: ignore[misc]


@contextmanager
def _forking(address: Path) -> Iterator[None]:
    """Run the forking process; connections wait until it has loaded its modules."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(64)
        command = [sys.executable, __file__, str(address), str(listener.fileno())]
        process = STARTS(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])
    with process:
        yield
        process.kill()


class Forking:
    """Forks for each connection, and reports how the fork ended."""

    def __init__(self, address: Path, listener: socket.socket) -> None:
        self._address = address
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin, selectors.EVENT_READ, sys.exit)  # the tests have ended

    def run(self) -> NoReturn:
        while True:
            for key, _ in self._selector.select():
                if self._selector.get_map().get(key.fd) is key:  # not unregistered, nor its number used again
                    key.data()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        start, handles = _received(connection)
        if not start:  # the stand-in was killed before it had sent everything
            connection.close()
            for handle in handles:
                os.close(handle)
            return
        pid = os.fork()
        if pid == 0:
            words, folder, environment, streams = json.loads(start)
            self._become(words, folder, environment, dict(zip(streams, handles, strict=True)))
        for handle in handles:
            os.close(handle)
        ended = os.pidfd_open(pid)
        with contextlib.suppress(OSError):
            connection.sendall(b"%16d" % pid)

        def notify() -> None:
            self._selector.unregister(ended)
            self._selector.unregister(connection)
            os.close(ended)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with contextlib.suppress(OSError), connection:
                connection.sendall(b"%16d" % code)

        self._selector.register(ended, selectors.EVENT_READ, notify)
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
            _open_streams()
            sys.path[:0] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
            sys.argv[1:] = words[1:]
            sys.modules.pop(words[0], None) if "." in words[0] else None
            with _started_at(self._address.parent):
                runpy.run_module(words[0], run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        except BaseException as error:  # noqa: BLE001 - told as Python tells it
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            for output in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    output.flush()
            os._exit(code)


def _received(connection: socket.socket) -> tuple[bytes, array.array[int]]:
    """Return the request of a stand-in process (empty if incomplete) and its streams."""
    start, handles = b"", array.array("i")
    try:
        length, rights, _, _ = connection.recvmsg(16, socket.CMSG_SPACE(4 * _ABOVE_STREAMS))
        handles = array.array("i", b"".join(data for _, _, data in rights))
        while length and len(start) < int(length):
            piece = connection.recv(1 << 20)
            if not piece:
                return b"", handles
            start += piece
    except OSError:
        return b"", handles
    return start, handles


def _open_streams() -> None:
    """Open the standard streams again, because they may be a terminal now, or closed."""
    sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]
    with contextlib.suppress(OSError):
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - to the end of the process
    with contextlib.suppress(OSError):
        sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8")  # noqa: SIM115 - as above
    with contextlib.suppress(OSError):
        sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - as above
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def main(address: Path, listener: socket.socket) -> NoReturn:
    """Load the modules of the main module, and fork for each connection."""
    sys.path.pop(0)
    module = MODULES[int(address.name)]
    importlib.import_module(module)
    if module == "promptls":
        for name in ("cli.main", "cli.reports", "server.session"):
            importlib.import_module(f"promptls.{name}")
        commands = importlib.import_module("promptls.cli.commands")
        for found in pkgutil.iter_modules(commands.__path__):
            importlib.import_module(f"promptls.cli.commands.{found.name}")
    if module in {"promptls", RENDERS}:
        from promptls.tokens import ENCODING_NAMES, load

        for encoding in ENCODING_NAMES:
            load(encoding)
    gc.collect()
    gc.freeze()  # no fork searches for garbage among what is loaded
    Forking(address, listener).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
