"""Shapes, for trying completions on."""

from dataclasses import dataclass


@dataclass
class Rectangle:
    width: float
    height: float

    def area(self) -> float:
        return self.width * self.height

    def perimeter(self) -> float:
        return 2 * (self.width + 


@dataclass
class Circle:
    radius: float

    def area(self) -> float:
        return 3.14159 * self.radius ** 2


def total_area(shapes):
    total = 0.0
    for shape in shapes:
        total += shape.area()
    return total


print(total_area([Rectangle(2, 3), Circle(1)]))
