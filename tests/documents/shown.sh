#!/bin/sh
# Runs every command of a document that stands behind a `$`, and compares what it prints with the lines below.
#
# usage: shown.sh DOCUMENT DIRECTORY_OF_PLEAT; run in the root of the tree
set -u
document=$1
PATH=$2:$PATH
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# N.command and N.expected for the Nth command. Its lines end in a backslash or a pipe, but for the last.
awk -v dir="$dir" '
  function add(name, line) { printf "%s\n", line >(dir "/" n "." name) }
  /^    \$ / { ++n; blanks = 0; sub(/^    \$ /, "    "); more = 1; add("expected", "") }
  !/^    / && NF { more = 0; shown = 0; next }
  more { line = substr($0, 5); add("command", line); more = line ~ /(\\|\|)$/; shown = !more; next }
  shown && !NF { ++blanks; next }
  shown { for (; blanks; --blanks) add("expected", ""); add("expected", substr($0, 5)) }
' "$document"
failed=0
count=0
for command in "$dir"/*.command; do
  [ -e "$command" ] || break
  count=$((count + 1))
  (echo; sh "$command" 2>"$dir/err" </dev/null) >"$dir/out"
  cmp -s "${command%.command}.expected" "$dir/out" && continue
  echo "not what the document shows:"
  cat "$command"
  diff "${command%.command}.expected" "$dir/out"
  cat "$dir/err"
  failed=1
done
[ "$count" -ge 1 ] || { echo "no command in $document"; failed=1; }
exit "$failed"
