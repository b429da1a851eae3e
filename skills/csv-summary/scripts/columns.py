"""One column of a table."""

import math


class Column:
    def __init__(self, name):
        self.name = name
        self.values = []

    def add(self, value):
        if value.strip():
            self.values.append(value.strip())

    def summary(self):
        answer = {"name": self.name, "filled": len(self.values), "distinct": len(set(self.values))}
        numbers = [number(value) for value in self.values]
        if numbers and None not in numbers:
            mean = math.fsum(numbers) / len(numbers)
            answer |= {"minimum": min(numbers), "mean": round(mean, 6), "maximum": max(numbers)}
        return answer


def number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
