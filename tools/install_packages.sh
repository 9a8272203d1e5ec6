#!/usr/bin/env bash
# Installs the Debian packages of the given purposes (see packages.txt) that are missing. Quick when
# nothing is; an ordinary user is told the one command that only root can run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

wanted=()
for purpose in "$@"; do
  while read -r for_what package; do
    [ "$for_what" = "$purpose" ] && wanted+=("$package")
  done < <(grep -v '^#' "$here/packages.txt")
done

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "These packages are missing and only root can install them:" >&2
  echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${#missing[@]} packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "Installing packages failed; the end of apt-get's output is above." >&2
  exit 1
fi
