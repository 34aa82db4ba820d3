"""How values flow through a template: access paths, conditions, uses, macros."""
