#!/usr/bin/env bash
# clang-tidy over all sources, with the compile commands of the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
find src apps -name '*.cc' ! -name '*_test.cc' | sort |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/release --warnings-as-errors='*'
