"""Language models, one provider per module."""
