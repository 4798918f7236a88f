"""What code actions are tried on in real editors."""

from __future__ import annotations

HOLES = """import math


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2


def total_area(circles):
    total = ...
    for circle in circles:
        total += circle.area()
    return ...
"""
BROKEN = HOLES.replace("total = ...", "total = 0").replace("...", "total").replace("area()", "area(")
SOUND = BROKEN.replace("area(\n", "area()\n")
