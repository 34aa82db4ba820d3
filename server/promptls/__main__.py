"""`python -m promptls`, which is the same as the console script `promptls`."""

# Nothing but what Python itself has loaded is imported before the working folder is off the path.
import os
import sys


def _leave_working_folder() -> None:
    """Take the working folder from the path, where `-m` puts it first.

    In a user's folder, a file that is named like a library would be run in its place. A folder that
    `PYTHONPATH` names stays.
    """
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return
    try:
        working = os.getcwd()  # noqa: PTH109 - pathlib is not loaded
    except OSError:
        return
    if sys.path[:1] in ([""], [working]):
        del sys.path[0]


if __name__ == "__main__":
    _leave_working_folder()
    from promptls.cli.main import run

    run()
