"""Predictions of a fact-checker against the gold: what is compared with what, and what follows from it. Pure."""
