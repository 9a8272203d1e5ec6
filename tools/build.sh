#!/usr/bin/env bash
# Builds targets of a CMake preset: tools/build.sh release [target...]. Configures when needed, repeats
# nothing that is done, and says how far it is.
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
# With a terminal one line that changes, without one a line now and then.
show_progress() {
  local columns line now shown=$SECONDS
  columns=$(tput cols 2>/dev/null || echo 80)
  while IFS= read -r line; do
    if [ -t 1 ]; then
      printf '\r\033[K%.*s' "$((columns - 1))" "$line"
    elif now=$SECONDS && [ $((now - shown)) -ge 30 ] && [[ $line =~ ^\[[0-9]+/[0-9]+ ]]; then
      printf '  %s] steps of %s\n' "${line%% *}" "$preset"
      shown=$now
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}
NINJA_STATUS='[%f/%t %es] ' cmake --build "build/$preset" --target "${@:-all}" 2>&1 | tee "$log" | show_progress ||
  fail
