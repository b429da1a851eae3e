"""Writes the headings of a Markdown file as a nested list."""

import argparse
import os
import re

HEADING = re.compile(r"(#{1,6}) +(.+?)(?: +#+)? *$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def headings(lines):
    fence = None
    for line in lines:
        line = line.rstrip("\n")
        mark = FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
        elif fence is None and (heading := HEADING.match(line)):
            yield len(heading[1]), heading[2]


def anchor(title, seen):
    text = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    seen[text] = seen.get(text, -1) + 1
    return f"{text}-{seen[text]}" if seen[text] else text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document")
    parser.add_argument("contents")
    parser.add_argument("--depth", type=int, default=3)
    arguments = parser.parse_args()
    seen, lines = {}, []
    with open(arguments.document, encoding="utf-8") as document:
        for level, title in headings(document):
            link = anchor(title, seen)
            if level <= arguments.depth:
                lines.append(f"{'  ' * (level - 1)}- [{title}](#{link})\n")
    # Whole or not at all: a file of another name takes its place when it is finished.
    unfinished = arguments.contents + ".new"
    with open(unfinished, "w", encoding="utf-8") as contents:
        contents.writelines(lines)
    os.replace(unfinished, arguments.contents)
    print(f"{len(lines)} headings")


if __name__ == "__main__":
    main()
