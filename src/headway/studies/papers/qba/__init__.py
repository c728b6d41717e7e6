"""Quota-Based Aging: the grid of its evaluation, the claims and their predicates, the figures."""
