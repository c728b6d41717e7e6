"""Keep everybody."""

from __future__ import annotations

from headway.core.rules import Shedding


class Keep(Shedding):
    """Who is turned away? Nobody: a late answer counts as better than none.

    The baseline. Under lasting overload the queue grows without bound. Cost: none.
    """
