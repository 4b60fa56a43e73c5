"""How sure a median is."""

import math


def median_interval(values, confidence=0.95):
    """The order statistics between which the median lies with that probability, whatever the distribution."""
    ordered, n = sorted(values), len(values)
    for low in range(n // 2, -1, -1):
        inside = sum(math.comb(n, k) for k in range(low + 1, n - low)) / 2 ** n
        if inside >= confidence:
            return ordered[low], ordered[n - 1 - low]
    return ordered[0], ordered[-1]
