"""Frozen releases of the gold: who is in which split, what changed, and the files that are handed out."""
