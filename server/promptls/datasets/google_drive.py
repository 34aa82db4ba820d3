"""`gdrive`: JSON Lines files in a folder of Google Drive, through its REST API.

The extra `gdrive` installs google-auth. Credentials are read from `credentials_path`, the key file of a
service account, or else from the application default credentials of the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlencode

from promptls.datasets.backends import MissingData, UniformBackend
from promptls.datasets.cells import RowData, flat_row, json_line
from promptls.text.errors import UserError
from promptls.text.format import in_code

_SCOPE: Final = "https://www.googleapis.com/auth/drive.file"
_FOLDER: Final = "application/vnd.google-apps.folder"
_BOUNDARY: Final = "promptls-rows"
_ENDING: Final = ".jsonl"
_UPLOAD: Final = "uploadType=multipart&supportsAllDrives=true"
_SECONDS: Final = 60


class GoogleDrive(UniformBackend):
    """Storage in a Drive folder: datasets in its subfolder `datasets`, results in `experiments`."""

    def __init__(
        self,
        root_dir: str = "",
        *,
        folder_id: str = "",
        credentials_path: str | None = None,
        session: Any = None,
        address: str = "https://www.googleapis.com",
    ) -> None:
        """Use the folder with the id `root_dir` or, as Ragas calls it, `folder_id`.

        `session` sends the requests and has the interface of `requests.Session`; by default it is created
        from the credentials.
        """
        if not (root_dir or folder_id):
            raise TypeError("missing 1 required argument: 'root_dir', the id of the folder")
        self.folder_id = root_dir or folder_id
        self._credentials_path = credentials_path
        self._session = session
        self._address = address

    def _load(self, name: str, kind: str) -> list[RowData]:
        files = self._files(kind)
        if name not in files:
            listed = in_code(sorted(files)[:10]) or "nothing"
            raise MissingData(
                f"`{name}` is not in the folder `{kind}` of Google Drive", remedy=f"there is {listed}"
            )
        text = self._send("get", f"/drive/v3/files/{files[name]}?alt=media").content.decode("utf-8")
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def _save(self, name: str, kind: str, data: list[RowData]) -> None:
        known = self._files(kind).get(name)
        about = (
            {"name": f"{name}{_ENDING}"}
            if known
            else {"name": f"{name}{_ENDING}", "parents": [self._folder(kind)]}
        )
        rows = "".join(f"{json_line(flat_row(row))}\n" for row in data)
        pieces = ((json.dumps(about), "application/json; charset=UTF-8"), (rows, "application/x-ndjson"))
        body = "".join(f"--{_BOUNDARY}\r\nContent-Type: {kind}\r\n\r\n{text}\r\n" for text, kind in pieces)
        self._send(
            "patch" if known else "post",
            f"/upload/drive/v3/files{f'/{known}' if known else ''}?{_UPLOAD}",
            data=f"{body}--{_BOUNDARY}--\r\n".encode(),
            headers={"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
        )

    def _names(self, kind: str) -> list[str]:
        return sorted(self._files(kind))

    def _files(self, kind: str) -> dict[str, str]:
        """Return the ids of the files in a folder, by their names without the extension."""
        folder = self._found(kind)
        if folder is None:
            return {}
        query = f"'{folder}' in parents and trashed = false"
        return {
            file["name"].removesuffix(_ENDING): file["id"]
            for file in self._search(query)
            if file["name"].endswith(_ENDING)
        }

    def _folder(self, kind: str) -> str:
        """Return the id of a folder, creating it if it does not exist."""
        found = self._found(kind)
        if found is not None:
            return found
        made = self._send(
            "post",
            "/drive/v3/files?supportsAllDrives=true",
            json={"name": kind, "mimeType": _FOLDER, "parents": [self.folder_id]},
        )
        return str(made.json()["id"])

    def _found(self, kind: str) -> str | None:
        inside = f"'{self.folder_id}' in parents and trashed = false"
        query = f"{inside} and name = '{kind}' and mimeType = '{_FOLDER}'"
        return next((str(file["id"]) for file in self._search(query)), None)

    def _search(self, query: str) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            parameters = {
                "q": query,
                "fields": "nextPageToken,files(id,name)",
                "pageSize": 1000,
                "supportsAllDrives": "true",
                "includeItemsFromAllDrives": "true",
                **({"pageToken": token} if token else {}),
            }
            answer = self._send("get", f"/drive/v3/files?{urlencode(parameters)}").json()
            yield from answer.get("files", [])
            token = answer.get("nextPageToken", "")
            if not token:
                return

    def _send(self, method: str, path: str, **options: Any) -> Any:
        """Return the response to a request; raises UserError if Drive rejects it or cannot be reached."""
        if self._session is None:
            self._session = _authorize(self._credentials_path)
        try:
            response = getattr(self._session, method)(f"{self._address}{path}", timeout=_SECONDS, **options)
        except OSError as error:  # exceptions of requests are OSErrors
            raise UserError(
                f"Google Drive cannot be reached: {type(error).__name__}", remedy="check the network"
            ) from error
        if not response.ok:
            raise UserError(
                f"Google Drive refuses the request with status {response.status_code}",
                remedy="check the id of the folder, and that the account may write there",
            )
        return response


def _authorize(credentials_path: str | None) -> Any:
    try:
        sessions = import_module("google.auth.transport.requests")
        auth, service_account = import_module("google.auth"), import_module("google.oauth2.service_account")
    except ImportError as error:
        raise UserError(
            "Google Drive needs google-auth", remedy="install it: `pip install 'promptls[gdrive]'`"
        ) from error
    try:
        if credentials_path is None:
            credentials, _ = auth.default(scopes=[_SCOPE])
        else:
            credentials = service_account.Credentials.from_service_account_file(
                credentials_path, scopes=[_SCOPE]
            )
    except Exception as error:
        raise UserError(
            f"there are no credentials for Google Drive: {type(error).__name__}",
            remedy="give `credentials_path`, a key file of a service account, or log in with gcloud",
        ) from error
    return sessions.AuthorizedSession(credentials)
