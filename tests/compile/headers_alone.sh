#!/bin/sh
# headers_alone.sh <source tree> <jobs> <compiler> [<flag>...]
#
# Has the compiler look at each public header alone, at what users may leave out (*.cc beside this file)
# and at each misuse without its mistake. An error or a warning fails. Generates no code: a second each.
set -eu
source=$1 jobs=$2
shift 2
if ! command -v "$1" >/dev/null; then
  echo "there is no $1"
  exit 77
fi
cd "$source"
{
  find include -name '*.h'
  find tests/compile -name '*.cc'
} | sort | xargs -P "$jobs" -I{} "$@" -fsyntax-only -Wall -Wextra -Wno-missing-field-initializers \
  -Wpedantic -Werror -Iinclude -x c++ -include {} /dev/null
