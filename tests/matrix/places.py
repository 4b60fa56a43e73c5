"""A training loop in which each line that casts says how often it does, in all three steps together, and in which
function: by its qualified name, as far as code objects of CPython before 3.11 tell it."""

import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
import torch
import workload


def decorated(function):
    @functools.wraps(function)
    def around(*arguments):
        return function(*arguments)

    return around


class Products:
    @decorated
    def of_rows(self, rows):
        return rows @ rows.t()  # casts: 6 in Products.of_rows

    @staticmethod
    def of_columns(rows):
        return rows.t() @ rows  # casts: 6 in Products.of_columns, before 3.11 of_columns

    @classmethod
    def of_both(cls, rows):
        return cls.of_columns(rows).float().mean() + rows.mean()

    @property
    def twice(self):
        both = self.rows + self.rows
        return both @ both.t()  # casts: 6 in Products.twice


class Squares(Products):
    def __call__(self, rows):
        def of(factor):
            return torch.mm(rows, factor)  # casts: 6 in Squares.__call__.<locals>.of, before 3.11 of

        self.rows = rows
        return sum(of(rows.t()) for _ in range(1)) + self.of_rows(rows) + self.twice


def loss_of(output, labels):
    return torch.nn.functional.cross_entropy(output, labels)  # casts: 3 in loss_of


workload.start()
first, second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)
squares = Squares()
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
for rows, labels in workload.small_batches(3, width=8, classes=4):
    optimizer.zero_grad()
    with workload.bf16():
        hidden = first(rows)  # casts: 9 in <module>
        hidden = hidden + first(rows)  # casts: 3 in <module>
        product = squares(rows).float().mean() + squares.of_both(rows)
        output = second(hidden)  # casts: 6 in <module>
        loss = loss_of(output, labels)
    (loss + product).backward()
    optimizer.step()
    workload.say_loss(loss)
workload.finish(first, second)
