"""Policies: one idea a file. They know the core and nothing else."""
