"""A summary by selection: the sentences whose words the text uses most, as they stand there.

Source followed: Luhn, The automatic creation of literature abstracts (1958).
"""

from __future__ import annotations

from collections import Counter

from promptls.generation.prose import sentences, subject_words


def summary(text: str, most: int) -> str:
    """The `most` sentences that say most of the text, in its order; empty where it has none."""
    found = sentences(text)
    read = [subject_words(sentence) for sentence in found]
    weights = Counter(word for each in read for word in set(each))
    scores = [
        # By the root of its length: neither the longest sentence nor the one of two words is the best.
        sum(weights[word] for word in each) / len(each) ** 0.5 if each else 0.0
        for each in read
    ]
    best = sorted(range(len(found)), key=lambda index: -scores[index])[:most]
    return " ".join(found[index] for index in sorted(best))
