#!/bin/sh
# Usage: report.sh [--top N] FILE
set -eu

top=5
if [ "${1-}" = --top ]; then
    top=$2
    shift 2
fi
if [ $# -ne 1 ]; then
    echo 'usage: report.sh [--top N] FILE' >&2
    exit 2
fi

bytes=$(wc -c <"$1")
awk -v bytes="$((bytes))" '
    { words += NF; if (length($0) > longest) { longest = length($0); at = NR } }
    END {
        printf "lines    %d\nwords    %d\nbytes    %d\n", NR, words, bytes
        if (longest) printf "longest  line %d, %d characters\n", at, longest
    }
' "$1"

# Ties are broken by the alphabet, so that the same text gives the same report everywhere.
frequent=$(tr -cs '[:alnum:]' '\n' <"$1" | tr '[:upper:]' '[:lower:]' | awk 'length { count[$0]++ } END { for (word in count) print count[word], word }' |
    LC_ALL=C sort -k1,1nr -k2,2 | head -n "$top")
if [ -n "$frequent" ]; then
    echo 'frequent'
    echo "$frequent" | while read -r count word; do
        printf '  %5d  %s\n' "$count" "$word"
    done
fi
