"""Text in, trees and errors out, with true positions.

Nothing here raises on malformed input, and each function sees one text at a time.
"""
