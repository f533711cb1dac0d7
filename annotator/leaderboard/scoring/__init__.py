"""Compares a fact-checker's predictions with the gold. Pure."""
