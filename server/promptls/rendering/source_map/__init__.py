"""Where each character of a rendered prompt comes from: the template, the loop turns and the data.

Jinja compiles templates to code that yields, for everything that is printed, a piece with its
origin. Pieces stay with the text they make, through macros, blocks, variables and filters. The
rendered text is, byte for byte, the one of the plain compilation.
"""
