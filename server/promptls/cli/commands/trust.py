"""`promptls trust`: the user's decisions about trusted folders and keys."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from promptls.cli.terminal import paint, print_json
from promptls.security.trust import Decisions, KeyGrant, TrustStore, covers_home, printable
from promptls.text.errors import FilePlace, UsageError

DESCRIPTION = """\
List and change your decisions: which folders are trusted, and which key may be sent to which
server. In an untrusted folder, promptls runs no Python (functions, metrics, experiments), loads
no models that the folder names and runs experiments only on models that it brings along. A
decision also applies to subfolders.
Commands ask on a terminal; elsewhere they refuse, and `--trust` allows a single command.
Decisions are stored in your user configuration, never in a project.

examples:
  promptls trust                       list all decisions
  promptls trust .                     trust this folder and its subfolders
  promptls trust ~/downloads --revoke  remove the trust, and do not ask again
  promptls trust --key OPENAI_API_KEY@https://llm.example.com
  promptls trust --key OPENAI_API_KEY@https://llm.example.com --revoke
  promptls trust --json | jq .folders

exit codes: 0 listed or changed, 1 the decisions cannot be read or written, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the folders and keys, and the output format."""
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="the folders to trust")
    parser.add_argument(
        "--key",
        metavar="VARIABLE@ORIGIN",
        dest="keys",
        action="append",
        default=[],
        help="allow the value of this environment variable to be sent to this server; may be repeated",
    )
    parser.add_argument("--revoke", action="store_true", help="remove the trust or the permission")
    parser.add_argument("--json", action="store_true", help="print all decisions as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Save the decisions, or list them; raises UsageError for invalid folders or keys."""
    store = TrustStore()
    if arguments.revoke and not arguments.folders and not arguments.keys:
        raise UsageError("`--revoke` needs a folder or a key", remedy="`promptls trust` lists them")
    grants = [_grant(word) for word in arguments.keys]
    folders = [_folder(word, is_there=not arguments.revoke) for word in arguments.folders]
    for folder in folders:
        store.decide(folder, trusted=not arguments.revoke)
    if arguments.revoke:
        for grant in grants:
            store.revoke(grant)
    elif grants:
        store.give(grants)
    decisions = store.read()
    if arguments.json:
        print_json(_as_json(store, decisions))
    elif folders or grants:
        _print_decided(folders, grants, is_revoked=arguments.revoke)
    else:
        _print_all(store, decisions)
    return 0


def _grant(word: str) -> KeyGrant:
    try:
        return KeyGrant.parse(word)
    except ValueError as error:
        raise UsageError(
            str(error), remedy="such as `--key OPENAI_API_KEY@https://llm.example.com`"
        ) from None


def _folder(word: str, *, is_there: bool) -> Path:
    try:
        folder = Path(word).expanduser().resolve()
    except RuntimeError:  # `~name` of nobody
        raise UsageError("there is no such user", FilePlace(Path(word)), "name a folder") from None
    if is_there and not folder.is_dir() and not (folder.is_file() and covers_home(folder.parent)):
        kind = "this is a file" if folder.exists() else "there is no such folder"
        raise UsageError(kind, FilePlace(folder), "name a folder")
    return folder


def _as_json(store: TrustStore, decisions: Decisions) -> dict[str, object]:
    return {
        "file": str(store.file),
        "folders": [
            {"path": path, "trusted": trusted} for path, trusted in sorted(decisions.folders.items())
        ],
        "keys": [{"variable": each.variable, "origin": each.origin} for each in sorted(decisions.grants)],
    }


def _print_decided(folders: list[Path], grants: list[KeyGrant], *, is_revoked: bool) -> None:
    from promptls.workspace.settings import folder_to_trust

    for folder in folders:
        print(f"{printable(str(folder))} is {'not trusted' if is_revoked else 'trusted'}.")
        if not is_revoked and folder.is_dir() and covers_home(folder):
            print("note: this includes everything in it, such as downloads", file=sys.stderr)
        project = folder_to_trust(folder) if folder.is_dir() else folder
        if not is_revoked and TrustStore().decision([project]) is not True:
            around = printable(str(project))
            print(f"note: its project is {around}, which is not trusted", file=sys.stderr)
    for grant in grants:
        print(f"{grant.variable} {'is not' if is_revoked else 'may be'} sent to {grant.origin}.")


def _print_all(store: TrustStore, decisions: Decisions) -> None:
    if not decisions.folders and not decisions.grants:
        print("Nothing was decided: no folder is trusted.")
    for path, trusted in sorted(decisions.folders.items()):
        state = paint("trusted    ", "green") if trusted else paint("not trusted", "red")
        print(f"{state}  {printable(path)}")
    for grant in sorted(decisions.grants):
        print(f"{paint('key        ', 'cyan')}  {grant.variable} to {grant.origin}")
    print(paint(f"in {printable(str(store.file))}", "dim"))
