"""What to compare with whom: annotations of one stage side by side, row by row, and what follows from decisions.

Nothing here writes or reads the database: it is given rows and gives rows. The coefficients over many documents are
``pipeline.metrics.agreement``.
"""
