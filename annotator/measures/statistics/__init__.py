"""Counts a benchmark's gold: the figures of Factcheck-Bench section 3.3. Pure functions over rows."""
