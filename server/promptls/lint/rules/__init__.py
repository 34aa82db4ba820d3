"""The rules, in a package for each subject. `lint.registry` loads those that are found here."""
