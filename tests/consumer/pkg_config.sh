#!/bin/sh
# pkg_config.sh <compiler> <staged prefix> <source tree> <work directory>
#
# Compiles and runs the consumer of the installed package with what pkg-config says and nothing else.
set -eu
compiler=$1 stage=$2 source=$3 work=$4

mkdir -p "$work"
pc=$(find "$stage" -name pkgconfig -type d)
export PKG_CONFIG_PATH="$pc"

# Where a path begins: a source tree /pleat is no part of ${prefix}/include/pleat/.
begins='(^|-[IL]|[^][:alnum:]_./{}<>-])'
if grep -rIE -e "$begins$(printf %s "$source" | sed 's/[][\.*^$()+?{}|]/\\&/g')/" "$stage"; then
  echo "the lines above name the tree they were built in" >&2
  exit 1
fi
if pkg-config --exists 'pleat >= 0.2'; then
  echo "0.2 does not exist yet" >&2
  exit 1
fi

# shellcheck disable=SC2046  # the flags are words
"$compiler" -std=c++20 $(pkg-config --cflags pleat-json pleat-asio pleat-lanes) \
  "$source/tests/consumer/installed/main.cc" -o "$work/consumer" \
  $(pkg-config --libs pleat-json pleat-asio pleat-lanes)
"$work/consumer"
