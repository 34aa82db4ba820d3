"""Extractors of entities, key phrases and summaries: by rules, which cost nothing, or by a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.models.model import EmbeddingResult
from promptls.models.opening import MiniLm
from promptls.testset.documents import HEADINGS, HeadingSplitter
from promptls.testset.graph import Node
from promptls.testset.scenarios import extraction_messages

_WORDS: Final = """
a about above after again all also am an and any are as at be because been before being below
between both but by can could did do does doing down during each either else ever every few for from
further get had has have having he her here hers him his how i if in into is it its itself just like
made make many may me might more most much must my neither no nor not now of off on once one only or
other our out over own per same say says see set she should since so some such than that the their
them then there these they this those through to too two under until up upon us use used uses using
very via was we well were what when where whether which while who whom whose why will with within
without would yes yet you your
"""

STOP_WORDS: Final = frozenset(_WORDS.split())
"""The words, in lower case."""


_FENCE: Final = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--.*?-->|\{#.*?#\}", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_TABLE: Final = re.compile(r"^\s*\|.*$", re.MULTILINE)
_RULE: Final = re.compile(r"^\s*([-=*_~^])\1{2,}\s*$", re.MULTILINE)
_FRAME: Final = re.compile(r"^\s*(#{1,6}|[-*+]|\d+[.)]|>)\s+", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)
_MARKS: Final = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_ENDS: Final = re.compile(r"(?<=[.!?])[\"\u201d)\u2019]*\s+|(?<=[。\uff01\uff1f])|\n+")
_WORD: Final = re.compile(r"[^\W\d_](?:[\w'\u2019-]*\w)?")

_SHORTEST: Final = 20
"""Minimum length of a sentence in characters."""


def prose(text: str) -> str:
    """Return the text without code blocks, tables, comments and the targets of links."""
    for pattern in (_FENCE, _COMMENT, _TABLE, _RULE):
        text = pattern.sub("", text)
    return _LINK.sub(r"\1", text)


def sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text, in order, without headings and markup."""
    plain = _MARKS.sub("", _FRAME.sub("", _HEADING.sub("", prose(text))))
    found = (" ".join(piece.split()) for piece in _ENDS.split(plain))
    return [each for each in found if len(each) >= _SHORTEST]


def words(text: str) -> list[str]:
    """Return the words of a text, unchanged."""
    return _WORD.findall(text)


def subject_words(text: str) -> list[str]:
    """Return the content words of a text, in lower case."""
    return [word for each in words(text) if (word := each.casefold()) not in STOP_WORDS and len(word) > 1]


_CODE: Final = re.compile(r"(?<!`)`([^`\n]{2,40})`(?!`)")
_NAME: Final = re.compile(
    r"[^\W\d_a-z][\w'\u2019.+#-]*\w(?:\s+(?:(?:of|de|van|von|der|the)\s+)?[^\W\d_a-z][\w'\u2019.+#-]*\w)*"
)
_IDENTIFIER: Final = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[0-9]*)\b")


def entities(text: str, limit: int) -> list[str]:
    """Return the first `limit` named entities of a text, in order, without duplicates ignoring case.

    A capitalized word at the beginning of a sentence is a name if it is capitalized elsewhere as well, if
    it is a possessive (`Einstein's`), or if it is followed by a verb (`Einstein was`).
    """
    found: dict[str, str] = {}
    for name in (*_CODE.findall(prose(text)), *_names(text)):
        shown = _without_possessive(" ".join(name.split()).strip(".,;:'\u2019-"))
        if len(shown) > 1 and shown.casefold() not in STOP_WORDS and any(each.isalpha() for each in shown):
            found.setdefault(shown.casefold(), shown)
    return list(found.values())[:limit]


_POSSESSIVE: Final = re.compile(r"['\u2019]s?$")


def _without_possessive(name: str) -> str:
    return _POSSESSIVE.sub("", name)


# A possessive ends a name: "Albert Einstein's Nobel Prize" contains two.
_INNER_POSSESSIVE: Final = re.compile(r"(?<=\w)(?:['\u2019]s|(?<=s)['\u2019])\s+")


def _names(text: str) -> Iterator[str]:
    # A capitalized word that begins a sentence is a name if it also occurs inside of a sentence.
    first: list[tuple[str, bool]] = []
    inside: set[str] = set()
    found = sentences(text)
    lower = {word for sentence in found for word in words(sentence) if word[0].islower()}
    for sentence in found:
        yield from _IDENTIFIER.findall(sentence)
        for match in _NAME.finditer(sentence):
            names = [_without_possessive(each) for each in _INNER_POSSESSIVE.split(match[0])]
            if match.start() == 0:
                is_alone = names == [match[0]]
                first.append((names.pop(0), not is_alone or _VERB.match(sentence, match.end()) is not None))
            for name in names:
                inside.add(name.casefold())
                yield name
    for name, is_like_a_name in first:
        word = name.casefold()
        is_known = word in inside or " " in name
        if is_known or (is_like_a_name and word not in lower and not _is_common(word)):
            yield _without_first_stop_word(name)


# Without a preceding article, a word before a verb is a name.
_VERB: Final = re.compile(r"\s+(?:is|was|has|had|does|did|\w{2,}ed|wrote|won|made|gave|became|died|began)\b")


# Nouns without an article that are not names: by suffix, and common ones.
_COMMON_ENDINGS: Final = ("ing", "ly", "tion", "sion", "ness", "ment", "ity", "ism", "ship", "ance", "ence")
_NOUNS: Final = """
access air anybody anyone anything children code coffee content data energy everybody everyone everything
evidence feedback food gold health heat help history information law light love mail men money music nobody
nothing nature news oil paper people power progress rain research science sleep software somebody someone
something sound space stress support tea time today tomorrow traffic training trust truth water weather women
wood work yesterday
"""
_COMMON_NOUNS: Final = frozenset(_NOUNS.split())


def _is_common(word: str) -> bool:
    return word in STOP_WORDS or word in _COMMON_NOUNS or word.endswith(_COMMON_ENDINGS)


def _without_first_stop_word(name: str) -> str:
    word, _, rest = name.partition(" ")
    return rest if word.casefold() in STOP_WORDS else name


_PIECES: Final = re.compile(r"[,;:()\[\]“\u201d\"`*|/\u2013—!?]|\.\s|\.$")
_PHRASE_WORD: Final = re.compile(r"[^\W\d_][\w'\u2019.+#-]*")

# Maximum number of words of a phrase; longer sequences are rarely terms.
_LONGEST: Final = 3
_SHORTEST_WORD: Final = 3


def keyphrases(text: str, limit: int) -> list[str]:
    """Return the `limit` best phrases of a text, best first.

    Each is spelled as at its first occurrence.
    """
    phrases = [phrase for sentence in sentences(text) for phrase in _candidates(sentence)]
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for phrase in phrases:
        for word in phrase:
            frequency[word.casefold()] += 1
            degree[word.casefold()] += len(phrase)
    shown: dict[str, str] = {}
    scores: dict[str, float] = {}
    times = Counter(" ".join(phrase).casefold() for phrase in phrases)
    for phrase in phrases:
        key = " ".join(phrase).casefold()
        shown.setdefault(key, " ".join(phrase))
        company = sum(degree[word.casefold()] / frequency[word.casefold()] for word in phrase)
        # Frequent phrases are more important than the co-occurrence score alone suggests.
        scores[key] = company * times[key]
    best = sorted(scores, key=lambda key: -scores[key])
    return [shown[key] for key in best[:limit]]


def _candidates(sentence: str) -> Iterator[list[str]]:
    for piece in _PIECES.split(sentence):
        run: list[str] = []
        for part in [*piece.split(), ""]:
            word = part.strip(".'\u2019-")
            if (
                _PHRASE_WORD.fullmatch(word)
                and len(word) >= _SHORTEST_WORD
                and word.casefold() not in STOP_WORDS
            ):
                run.append(word)
                continue
            if 0 < len(run) <= _LONGEST:
                yield run
            run = []


def summary(text: str, limit: int) -> str:
    """Return the `limit` most important sentences of the text, in text order; empty if it has none."""
    found = sentences(text)
    read = [subject_words(sentence) for sentence in found]
    weights = Counter(word for each in read for word in set(each))
    scores = [
        # Normalized by the square root of the length, to favor neither very long nor very short sentences.
        sum(weights[word] for word in each) / len(each) ** 0.5 if each else 0.0
        for each in read
    ]
    best = sorted(range(len(found)), key=lambda index: -scores[index])[:limit]
    return " ".join(found[index] for index in sorted(best))


@runtime_checkable
class Extractor(Protocol):
    """The interface of extractors, which compute a property of a node."""

    async def extract(self, node: Node) -> tuple[str, Any]:
        """Return the name of the property and its value; the value is None if nothing was found."""


@runtime_checkable
class BatchExtractor(Extractor, Protocol):
    """An extractor that can process many nodes at once more efficiently."""

    async def extract_all(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """Return the results of `extract` for all nodes, in order."""


@dataclass(frozen=True, slots=True)
class KeyphraseExtractor:
    """Extracts at most `limit` key phrases of a text."""

    limit: int = 8
    name: str = "keyphrases"

    async def extract(self, node: Node) -> tuple[str, list[str]]:
        """See `Extractor`."""
        return self.name, keyphrases(node.text, self.limit)


@dataclass(frozen=True, slots=True)
class NERExtractor:
    """Extracts at most `limit` named entities of a text."""

    limit: int = 12
    name: str = "entities"

    async def extract(self, node: Node) -> tuple[str, list[str]]:
        """See `Extractor`."""
        return self.name, entities(node.text, self.limit)


@dataclass(frozen=True, slots=True)
class SummaryExtractor:
    """Extracts a summary of at most `limit` sentences of a text."""

    limit: int = 2
    name: str = "summary"

    async def extract(self, node: Node) -> tuple[str, str]:
        """See `Extractor`."""
        return self.name, summary(node.text, self.limit)


@dataclass(frozen=True, slots=True)
class HeadingExtractor:
    """Extracts the headings of a text; headings set by a splitter are not overwritten."""

    name: str = HEADINGS

    async def extract(self, node: Node) -> tuple[str, list[str]]:
        """See `Extractor`."""
        known = node.texts(HEADINGS)
        if known:
            return self.name, known
        pieces = HeadingSplitter(fewest=0).split(node).nodes
        return self.name, list(dict.fromkeys(title for piece in pieces for title in piece.texts(HEADINGS)))


class Asker(Protocol):
    """The interface for requesting a text answer to messages."""

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the answer to the messages, constrained to the schema if supported; raises `UserError`.

        `sample` counts from 1 and distinguishes repeated requests, which must not share cached answers.
        """


_FOUND: Final = "found"

_MAX_ITEMS: Final = 12
"""Maximum number of items of a list: small models may not stop by themselves."""


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Requests a property, described by `task`, with at most `tries` attempts: a list of texts, or a `text`.

    Invalid answers are ignored, and with `verbatim`, also items that do not occur in the node.
    """

    asker: Asker
    name: str
    task: str
    is_text: bool = False
    verbatim: bool = False
    tries: int = 2

    async def extract(self, node: Node) -> tuple[str, Any]:
        """See `Extractor`; the value is None if no answer is valid. Raises the errors of the model."""
        schema = self.schema
        for attempt in range(1, self.tries + 1):
            answer = await self.asker.ask(
                extraction_messages(self.task, node.text, _FOUND), json_schema=schema, sample=attempt
            )
            try:
                found = read_verdict(answer, schema)[_FOUND]
            except NoVerdictError:
                continue
            value = found.strip() if self.is_text else self._items(found, node.text)
            if value:
                return self.name, value
        return self.name, None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an answer."""
        item: dict[str, Any] = {"type": "string"}
        value = item if self.is_text else {"type": "array", "items": item, "maxItems": _MAX_ITEMS}
        return {
            "type": "object",
            "properties": {_FOUND: value},
            "required": [_FOUND],
            "additionalProperties": False,
        }

    def _items(self, found: list[str], text: str) -> list[str]:
        unique = dict.fromkeys(" ".join(each.split()) for each in found)
        there = text.casefold()
        return [each for each in unique if each and (not self.verbatim or each.casefold() in there)]


def model_keyphrases(asker: Asker) -> ModelExtractor:
    """Return an extractor of key phrases by a model."""
    return ModelExtractor(asker, "keyphrases", "List the three to eight phrases that the text is about.")


def model_entities(asker: Asker) -> ModelExtractor:
    """Return an extractor of named entities by a model.

    Entities that do not occur in the text are ignored.
    """
    task = "List the names in the text: people, products, organizations, places, files, commands."
    return ModelExtractor(asker, "entities", task, verbatim=True)


def model_summary(asker: Asker) -> ModelExtractor:
    """Return an extractor of summaries by a model."""
    return ModelExtractor(asker, "summary", "Summarize the text in one or two sentences.", is_text=True)


# Digits of stored numbers: sufficient for comparisons, and readable in files.
_DIGITS: Final = 5

_BATCH: Final = 16
"""Maximum number of texts per request."""


class TextEmbedder(Protocol):
    """The interface of embedding models: a model of promptls, or any object with this method."""

    async def embed(self, texts: Sequence[str]) -> EmbeddingResult:
        """Return the vectors of the texts, in order; raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class EmbeddingExtractor:
    """Extracts the embedding of the beginning of a node's prose, by default with the small local model.

    `limit` characters are sufficient to represent the subject of a text, and much faster.
    """

    embedder: TextEmbedder = field(default_factory=MiniLm)
    name: str = "embedding"
    limit: int = 400

    async def extract(self, node: Node) -> tuple[str, Any]:
        """See `Extractor`; raises `ModelError`."""
        return (await self.extract_all([node]))[0]

    async def extract_all(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """See `BatchExtractor`; raises `ModelError`."""
        found: list[tuple[str, Any]] = []
        for begin in range(0, len(nodes), _BATCH):
            made = await self.embedder.embed(
                [prose(node.text).strip()[: self.limit] for node in nodes[begin : begin + _BATCH]]
            )
            found += [(self.name, [round(number, _DIGITS) for number in vector]) for vector in made.vectors]
        return found
