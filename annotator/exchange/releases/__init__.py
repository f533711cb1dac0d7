"""Frozen releases of the gold: splits, differences, and files."""
