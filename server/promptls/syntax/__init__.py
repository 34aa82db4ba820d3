"""Parsers: text in, trees and errors out, with exact positions.

No function raises on malformed input, and each handles one text at a time.
"""
