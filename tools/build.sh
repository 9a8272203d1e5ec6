#!/usr/bin/env bash
# Builds targets of a CMake preset: tools/build.sh release [target...]. Configures when needed, repeats
# nothing that is done, and is quiet unless it fails or a terminal can show the progress.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.log
# Another checkout of the same sources finds what this one has compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# Nor does it depend on the language of whoever builds.
unset LC_ALL LC_CTYPE LC_MESSAGES
export LANG=C.UTF-8
mkdir -p build

fail() {
  tail -n 60 "$log" >&2
  echo "Building '$preset' failed; the whole output is in $log" >&2
  exit 1
}
if [ ! -f "build/$preset/build.ninja" ]; then
  cmake --preset "$preset" >"$log" 2>&1 || fail
fi
if [ -t 1 ]; then
  NINJA_STATUS='[%f/%t %es] ' cmake --build "build/$preset" --target "${@:-all}" 2>&1 | tee "$log" |
    while IFS= read -r line; do printf '\r\033[K%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line"; done
  status=${PIPESTATUS[0]}
  printf '\r\033[K'
  [ "$status" -eq 0 ] || fail
else
  cmake --build "build/$preset" --target "${@:-all}" >"$log" 2>&1 || fail
fi
