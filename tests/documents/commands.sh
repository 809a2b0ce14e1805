#!/bin/sh
# Runs every `pleat` command of a document, each in an empty directory with a small LOG. A command fails
# the test if its exit code is not 0.
#
# usage: commands.sh DOCUMENT DIRECTORY_OF_PLEAT
set -u
document=$1
PATH=$2:$PATH
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
sed -n 's/^    \(pleat .*\)$/\1/p' "$document" >"$dir/commands"
failed=0
count=0
while IFS= read -r command; do
  count=$((count + 1))
  rm -rf "$dir/work" && mkdir "$dir/work" && cd "$dir/work" || exit 1
  cat >LOG <<'LOG'
{"basket":"b17","at":"2026-01-05T12:00:00Z","cents":1200,"paid":false,"step":"a81c","customer":{"id":7,"city":"Bonn"}}
{"basket":"b18","at":"2026-01-05T12:00:02Z","cents":500,"paid":false,"step":"a81d","customer":{"id":8,"city":"Ulm"}}
{"basket":"b17","at":"2026-01-05T12:00:10Z","cents":800,"paid":true,"step":"a81e","customer":{"id":7,"city":"Bonn"}}
LOG
  if ! sh -c "$command" >out 2>err </dev/null; then
    echo "failed: $command"
    cat err
    failed=1
  fi
done <"$dir/commands"
[ "$count" -ge 20 ] || { echo "only $count commands in $document"; failed=1; }
exit "$failed"
