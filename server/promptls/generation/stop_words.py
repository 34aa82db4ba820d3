"""English words that carry no subject; texts in other languages are read without such a list."""

from __future__ import annotations

from typing import Final

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
"""The words, in small letters."""
