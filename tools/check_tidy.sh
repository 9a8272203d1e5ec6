#!/usr/bin/env bash
# clang-tidy over all sources, each file for itself: so what one has forgotten to include is found too.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -B build/lint -DCMAKE_UNITY_BUILD=OFF >/dev/null
cmake --build build/lint --target berth_services >/dev/null  # the generated headers
find src apps -name '*.cc' ! -name '*_test.cc' | sort |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/lint --warnings-as-errors='*'
