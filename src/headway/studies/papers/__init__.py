"""Papers whose evaluations are done again, a study each."""
