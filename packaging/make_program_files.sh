#!/bin/sh
# Makes what comes with the program and is told by it, so that it cannot be about another pleat: a man page
# of each help text, and what bash, zsh and fish need to complete a command line.
#
# usage: make_program_files.sh PLEAT VERSION DIRECTORY
set -eu
pleat=$1 version=$2 directory=$3
script=$(dirname "$0")/manual.awk

# A pipe would hide that one of its programs failed.
help=$directory/help page=$directory/page
rm -rf "$directory"
mkdir -p "$directory/man1" "$directory/completions"
"$pleat" --help >"$help"
commands=$(awk '/^Commands:$/ { listed = 1; next } /^$/ { listed = 0 } listed { print $1 }' "$help")
[ -n "$commands" ] || { echo "pleat --help lists no commands" >&2; exit 1; }

# manual PAGE: of $help.
manual() {
  others=$(for other in pleat $(printf 'pleat-%s ' $commands); do
    [ "$other" = "$1" ] || echo "$other"
  done)
  awk -v page="$1" -v version="$version" -v others="$(echo $others)" -f "$script" "$help" >"$page"
  gzip -9n <"$page" >"$directory/man1/$1.1.gz"
}

manual pleat
for command in $commands; do
  "$pleat" "$command" --help >"$help"
  manual "pleat-$command"
done
"$pleat" completions bash >"$directory/completions/pleat"
"$pleat" completions zsh >"$directory/completions/_pleat"
"$pleat" completions fish >"$directory/completions/pleat.fish"
rm "$help" "$page"
