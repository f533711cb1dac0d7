"""Language models: one module a protocol, with what they have in common in ``base``."""
