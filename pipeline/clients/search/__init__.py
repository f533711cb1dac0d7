"""Search providers: one module each, with what they have in common in ``results``."""
