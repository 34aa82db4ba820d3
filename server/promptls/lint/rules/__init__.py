"""The rules, in a package for each subject. `lint.registry` finds them by scanning."""
