"""What a benchmark's gold holds, counted: the figures of Factcheck-Bench section 3.3. Pure functions over rows."""
