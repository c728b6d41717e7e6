"""Helpers for tests of policies and hosts, shipped so that users' tests can lean on them too."""
