#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format says. `tools/check_format.sh --fix` formats them.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
find src apps bench tests -name '*.cc' -o -name '*.h' | sort | xargs clang-format "${mode[@]}"
