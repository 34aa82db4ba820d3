"""Models that answer messages, one provider a module."""
