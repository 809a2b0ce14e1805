#!/bin/sh
# other_boost.sh <compiler> <staged prefix> <source tree> <work directory>
#
# A program that was compiled with another version of Boost than pleat must not link, and the error
# has to name the version.
set -eu
compiler=$1 stage=$2 source=$3 work=$4

mkdir -p "$work/boost"
cat >"$work/boost/version.hpp" <<'EOF'
#include_next <boost/version.hpp>
#undef BOOST_LIB_VERSION
#define BOOST_LIB_VERSION "1_99"
EOF
PKG_CONFIG_PATH=$(find "$stage" -name pkgconfig -type d)
export PKG_CONFIG_PATH

# shellcheck disable=SC2046  # the flags are words
if "$compiler" -std=c++20 -I"$work" $(pkg-config --cflags pleat-json pleat-asio) \
  "$source/tests/consumer/installed/main.cc" -o "$work/consumer" \
  $(pkg-config --libs pleat-json pleat-asio) 2>"$work/errors"; then
  echo "it linked" >&2
  exit 1
fi
if ! grep -q 'undefined reference.*Driver\[abi:boost_1_99\]' "$work/errors"; then
  cat "$work/errors" >&2
  exit 1
fi
