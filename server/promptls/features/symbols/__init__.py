"""Symbols: what stands at a place, and every place in the workspace where the same thing stands.

Definition, references, highlights, rename and the call hierarchy all ask here, so that they
cannot disagree on what is one thing.
"""

from promptls.features.symbols.find import symbol_at
from promptls.features.symbols.occurrences import occurrence_steps, occurrences, places_here
from promptls.features.symbols.symbol import Occurrence, Symbol

__all__ = ["Occurrence", "Symbol", "occurrence_steps", "occurrences", "places_here", "symbol_at"]
