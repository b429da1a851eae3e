"""Summarises a CSV file column by column, as one JSON object on standard output."""

import argparse
import csv
import json
import sys

from columns import Column


def summarise(rows):
    try:
        names = next(rows)
    except StopIteration:
        return {"rows": 0, "columns": []}
    columns = [Column(name) for name in names]
    count = 0
    for count, row in enumerate(rows, start=1):
        if len(row) != len(columns):
            sys.exit(f"row {count} has {len(row)} values and there are {len(columns)} columns")
        for column, value in zip(columns, row):
            column.add(value)
    return {"rows": count, "columns": [column.summary() for column in columns]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the table; its first row holds the names of the columns")
    parser.add_argument("--separator", default=",", help="what separates columns")
    arguments = parser.parse_args()
    with open(arguments.file, encoding="utf-8", newline="") as table:
        answer = summarise(csv.reader(table, delimiter=arguments.separator))
    json.dump(answer, sys.stdout, ensure_ascii=False, indent=2, allow_nan=False)
    print()


if __name__ == "__main__":
    main()
