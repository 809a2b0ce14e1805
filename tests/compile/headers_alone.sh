#!/bin/sh
# headers_alone.sh <source tree> <jobs> <compiler> [<flag>...]
#
# Has the compiler look at each public header alone, at what users may leave out (*.cc beside this file)
# and at each misuse without its mistake. An error or a warning fails. Generates no code: a second each.
# With `together` in place of <jobs>, at all public headers in one, once: for the compiler, and not for what
# each of them includes.
set -eu
source=$1 jobs=$2
shift 2
if ! command -v "$1" >/dev/null; then
  echo "there is no $1"
  exit 77
fi
cd "$source"
set -- "$@" -fsyntax-only -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Werror -Iinclude -x c++
if [ "$jobs" = together ]; then
  find include -name '*.h' | sort | sed 's:.*:#include "&":' | "$@" -I. -
  exit
fi
{
  find include -name '*.h'
  find tests/compile -name '*.cc'
} | sort | xargs -P "$jobs" -I{} "$@" -include {} /dev/null
