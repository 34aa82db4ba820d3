"""The source map: the origin of each character of a rendered prompt in template, loop and data.

Templates are compiled to code that yields a piece with its origin for everything that is printed.
Pieces are preserved through macros, blocks, variables and filters. The rendered text is
byte for byte the same as without the source map.
"""
