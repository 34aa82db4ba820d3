[
  (if_block)
  (for_block)
  (macro_block)
  (raw_block)
  (comment)
] @fold
