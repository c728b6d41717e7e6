"""Profiles of hypothesis: no deadlines (machines differ); `--hypothesis-profile=slow` tries many more examples."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "slow", parent=settings.get_profile("default"), max_examples=3000, suppress_health_check=list(HealthCheck)
)
settings.load_profile("default")
