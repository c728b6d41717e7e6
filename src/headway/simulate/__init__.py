"""The simulated engine, and a run of it as a record."""
