#!/usr/bin/env bash
# A program links the kinds of collection that it opens, and no other. $1 is a program with a folder,
# linked with the static library.
set -euo pipefail
symbols=$(nm -C "$1")
grep -q 'pleat::.*FoldBook::' <<<"$symbols" || { echo "$1 has no symbols of a folder"; exit 1; }
others=$(grep -E 'pleat::.*(RollupBook|LiveSetBook|PresenceBook)::' <<<"$symbols") || exit 0
echo "$1 has those of other kinds:"
echo "${others:0:1000}"
exit 1
