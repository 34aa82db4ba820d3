"""The open prompt made into a file of another form beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from promptls.convert.registry import convert
from promptls.dialects.ragas.saved_prompt import form_of
from promptls.ide.refactor.refactoring import Change, Offer, Place, refused
from promptls.semantic.kind import Kind
from promptls.text.errors import UserError
from promptls.workspace.disk import ENDINGS

_KIND: Final = "refactor.rewrite"
_LONGEST: Final = 200_000
"""Characters of a file that is converted to see whether it can be."""
_FORMS: Final = {
    Kind.OBJECT: ("object", "parts", "a parts template"),
    Kind.EVALUATION: ("opencompass", "parts", "a parts template"),
    Kind.PARTS: ("parts", "object", "a prompt object"),
}


def convert_file(place: Place) -> Offer | None:
    """Return the file in another form, beside it; offered on its first line."""
    form = _FORMS.get(place.kind)
    if form is not None and form_of(place.template.declarations.data) is not None:
        form = ("ragas", *form[1:])
    source_text = place.template.source
    if form is None or source_text.place(place.span.start).line > 0 or len(source_text) > _LONGEST:
        return None
    source, target, words = form
    path = _path(place, target)
    title = f"Convert to {words}: `{path.name}`"
    try:
        made = convert(source_text.text, place.path, source, target)
    except UserError as failure:
        return refused(title, _KIND, failure.message, makes_files=True)
    text = made.text
    if made.lost:
        title += ", with a list of what is lost"
        lines = "".join(f"  - {each}\n" for each in made.lost).replace("#}", "# }")
        text += f"{{# Not carried over:\n{lines}#}}\n"
    return Offer(title, _KIND, lambda: Change((), {str(path): text}), makes_files=True)


def _path(place: Place, target: str) -> Path:
    """Return a name beside the file that is free."""
    file = Path(place.path)
    stem = next((file.name[: -len(end)] for end in ENDINGS if file.name.endswith(end)), file.stem)
    path, number = file.with_name(f"{stem}_{target}.yml.j2"), 2
    while place.snapshot.exists(str(path)):
        path, number = file.with_name(f"{stem}_{target}_{number}.yml.j2"), number + 1
    return path
