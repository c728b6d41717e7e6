"""Deadlines and fairness done again: set-ups, measures, claims, figures."""
