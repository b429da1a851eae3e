#!/usr/bin/env python3
"""Counts lines, words, characters and bytes of UTF-8 text files; prints one JSON object."""

import argparse
import collections
import json
import re
import sys

RUN = re.compile(r"[\w'’-]+")


def count(data: bytes, top: int) -> dict:
    text = data.decode("utf-8")
    words = [run for run in RUN.findall(text) if any(character.isalnum() for character in run)]
    result = {
        "bytes": len(data),
        "characters": len(text),
        "lines": text.count("\n") + (text != "" and not text.endswith("\n")),
        "words": len(words),
    }
    if top:
        frequency = collections.Counter(word.casefold() for word in words)
        ordered = sorted(frequency.items(), key=lambda item: (-item[1], item[0]))
        result["top"] = [{"word": word, "count": number} for word, number in ordered[:top]]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="also list the N most frequent words")
    arguments = parser.parse_args()
    if not 0 <= arguments.top <= 1000:
        parser.error("--top must be from 0 to 1000")
    answer = {}
    for name in arguments.files:
        try:
            with open(name, "rb") as file:
                answer[name] = count(file.read(), arguments.top)
        except (OSError, UnicodeDecodeError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    json.dump(answer, sys.stdout, ensure_ascii=False, indent=2, sort_keys=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
