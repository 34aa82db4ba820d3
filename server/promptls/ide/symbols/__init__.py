"""The symbol at a position, and all its occurrences in the workspace.

Definition, references, highlights, rename and the call hierarchy use this package, so that they
agree on the identity of symbols.
"""

from promptls.ide.symbols.occurrences import occurrence_steps, occurrences, places_here, symbol_at
from promptls.ide.symbols.symbol import Occurrence, Symbol

__all__ = ["Occurrence", "Symbol", "occurrence_steps", "occurrences", "places_here", "symbol_at"]
