"""The quality of suggestions: compared with the gold, and by what people did with them. Pure. docs/prefill-quality.md
defines every figure. Rows come from ``annotator.measures.queries.suggestion_quality``."""
