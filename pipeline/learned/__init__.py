"""Suggestions that learn from a team's own gold: stance of a passage, checkworthiness of a sentence, type of a claim.

Pure: examples in, a stored model out, no Django. Training needs scikit-learn; suggesting needs only numpy.
"""
