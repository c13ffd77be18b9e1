"""How often Python looks for cycles among objects that nobody uses any more.

Libraries make many objects as they load, and hardly any cycles: looking for them takes a third of the time.
"""

import gc

SELDOM = 100_000
"""New objects after which Python looks; it does so after some hundreds by default."""


def collect_seldom() -> None:
    """Look for cycles less often from now on."""
    gc.set_threshold(SELDOM)
