#!/bin/sh
# Makes a small image from this machine's static busybox, with no network and no registry:
#
#   tools/make_image.sh LAYOUT:TAG [FILE[:DESTINATION]...]
#
# LAYOUT is an OCI layout directory, made if it is not there. Each FILE is put into the image, at / if
# no DESTINATION is given. The image runs `/bin/busybox sh`, to which an item's args are appended;
# ENTRYPOINT="WORD WORD..." makes it run something else.
set -eu

if [ $# -lt 1 ]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
image=$1
shift
layout=${image%:*}
if [ "$layout" = "$image" ]; then
  echo "make_image.sh: \"$image\" has no tag" >&2
  exit 2
fi
busybox=$(command -v busybox) || { echo "make_image.sh: busybox is not installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -e "$layout/index.json" ]; then
  mkdir -p "$(dirname "$layout")"
  umoci init --layout "$layout"
fi
umoci new --image "$image"
umoci unpack --image "$image" "$work/bundle" >/dev/null

root=$work/bundle/rootfs
mkdir -p "$root/bin" "$root/etc" "$root/tmp"
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
chmod 755 "$root/bin/busybox"
for applet in $("$busybox" --list); do
  [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
for file in "$@"; do
  case $file in
    *:*) destination=${file#*:} ;;
    *) destination=/$(basename "$file") ;;
  esac
  mkdir -p "$root/$(dirname "$destination")"
  cp "${file%%:*}" "$root/$destination"
done

umoci repack --image "$image" "$work/bundle" >/dev/null
set --
for word in ${ENTRYPOINT:-/bin/busybox sh}; do
  set -- "$@" --config.entrypoint "$word"
done
umoci config --image "$image" "$@"
umoci gc --layout "$layout" >/dev/null
