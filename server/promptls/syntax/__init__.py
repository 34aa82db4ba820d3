"""Text in, trees and errors out, with true positions. Never raises on malformed input; sees one text at a time."""
