#!/bin/sh
# Makes a small guest for virtual machines: Debian's kernel for clouds, and an initial ram disk of this
# machine's static busybox.
#
#   tools/make_vm_guest.sh DIRECTORY
#
# puts `vmlinuz` and `initrd` there. The guest runs `/bin/busybox sh`, to which an item's args are
# appended, and ends with its code. The kernel is downloaded once and kept below build/; it is not
# installed, and root is not needed.
set -eu

if [ $# -ne 1 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
tools=$(cd "$(dirname "$0")" && pwd)
cache=$tools/../build/vm-guest
# With what they need, which is not the same in each release of the kernel.
modules="virtio_mmio virtio_pci virtio_blk virtio_net virtio_console qemu_fw_cfg evdev button pvpanic-mmio"

die() {
  echo "make_vm_guest.sh: $1" >&2
  exit 1
}
busybox=$(command -v busybox) || die "busybox is not installed (package busybox-static)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

module_file() {
  find "$work/package/lib/modules" -name "$(echo "$1" | sed 's/[-_]/[-_]/g').ko"
}

# The modules that it needs: a module says so itself.
needs_of() {
  tr '\000' '\n' <"$(module_file "$1")" | LC_ALL=C sed -n 's/^depends=//p' | tr ',' ' '
}

# Each after those that it needs.
add_module() {
  if grep -qx "$1" "$work/kernel/modules/order"; then return; fi
  [ -n "$(module_file "$1")" ] || die "$package has no module $1"
  for needed in $(needs_of "$1"); do add_module "$needed"; done
  cp "$(module_file "$1")" "$work/kernel/modules/$1.ko"
  echo "$1" >>"$work/kernel/modules/order"
}

# Leaves the kernel and its modules in the cache, all of it or nothing.
download_kernel() {
  package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: //p' | head -n 1)
  [ -n "$package" ] || die "apt knows no linux-image-cloud-amd64: run apt-get update, or use Debian's sources"
  (cd "$work" && apt-get -q download "$package" >"$work/log" 2>&1) ||
    die "cannot download $package, and there is none in $cache yet: $(tail -n 1 "$work/log")"
  dpkg-deb -x "$work"/*.deb "$work/package"
  mkdir -p "$work/kernel/modules"
  cp "$work"/package/boot/vmlinuz-* "$work/kernel/vmlinuz"
  : >"$work/kernel/modules/order"
  for module in $modules; do add_module "$module"; done
  mkdir -p "$cache"
  rm -rf "$cache/kernel.new.$$"
  cp -r "$work/kernel" "$cache/kernel.new.$$"
  mv -T "$cache/kernel.new.$$" "$cache/kernel" 2>/dev/null || rm -rf "$cache/kernel.new.$$"  # another was faster
}

[ -e "$cache/kernel/vmlinuz" ] || download_kernel

root=$work/root
mkdir -p "$root/bin" "$root/dev" "$root/etc" "$root/proc" "$root/storage" "$root/sys" "$root/tmp"
cp "$busybox" "$root/bin/busybox"
chmod 755 "$root/bin/busybox"
for applet in $("$busybox" --list); do
  [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
cp -r "$cache/kernel/modules" "$root/modules"
mkdir "$root/guest"
cp "$tools/vm_guest/with_environment" "$tools/vm_guest/run_program" "$root/guest/"
cp "$tools/vm_guest/init" "$root/init"
chmod 755 "$root/init"

mkdir -p "$1"
python3 "$tools/make_initramfs.py" "$root" "$work/initrd"
mv "$work/initrd" "$1/initrd"
cp "$cache/kernel/vmlinuz" "$1/vmlinuz"
chmod 644 "$1/initrd" "$1/vmlinuz"
