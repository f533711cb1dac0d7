"""Compares annotations of one stage row by row, and applies decisions.

Nothing here queries the database: it takes rows and returns rows. Coefficients over many documents are in
``pipeline.metrics.agreement``.
"""
