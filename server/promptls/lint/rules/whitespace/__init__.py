"""Rules about white space that rendering removes, joins or adds."""
