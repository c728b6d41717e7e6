"""Keep everybody."""

from __future__ import annotations

from headway.core.rules import Shedding


class Keep(Shedding):
    """Who cannot make it any more? Nobody is turned away: a late answer counts as better than none.

    The baseline. Under lasting overload the queue grows without bound. Cost: none.
    """
