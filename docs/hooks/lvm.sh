#!/bin/sh
# Hooks that let a backup read a snapshot of a logical volume (LVM), in which nothing changes:
#
#   [profiles.home.backup]
#   paths = ["/mnt/.copal/home"]
#   as-path = "/home"
#   [profiles.home.hooks]
#   before-backup = ["/etc/copal/lvm.sh", "make", "group/home", "/mnt/.copal/home", "5G"]
#   after-backup = ["/etc/copal/lvm.sh", "drop", "group/home", "/mnt/.copal/home"]
#
# The size is how much may be written to the volume until the backup is over; the volume group needs as much free space.
# A snapshot that is full breaks, and the backup then reports errors of reading. A thin volume needs no size: leave it out.
# The snapshot is named after the volume, with "-copal" at its end. If the script makes the directory that the mount point
# lies in, only root may enter it. Only root may write to it in any case.
set -eu
fail() { echo "lvm.sh: $1" >&2; exit 1; }
[ $# -eq 3 ] || [ $# -eq 4 ] || fail 'usage: lvm.sh make|drop GROUP/VOLUME MOUNTPOINT [SIZE]'
act=$1 volume=$2 at=$3 size=${4-}
case $volume in -* | /* | */*/* | */) fail "$volume is not GROUP/VOLUME" ;; */*) ;; *) fail "$volume is not GROUP/VOLUME" ;; esac
case $at in /*) ;; *) fail "$at is not absolute" ;; esac
snapshot=$volume-copal
device=/dev/$snapshot

# Takes the snapshot away, also one that a killed run has left, and nothing else that has its name or its place.
drop() {
    while findmnt --source "$device" --mountpoint "$at" > /dev/null; do
        umount "$at"
    done
    origin=$(lvs --noheadings --options origin --select "lv_name=\"${snapshot#*/}\"" "${volume%/*}")
    if [ "$(echo "$origin" | tr -d '[:space:]')" = "${volume#*/}" ]; then
        lvremove --yes "$snapshot"
    fi
}

make() {
    above=$(dirname "$at")
    [ -d "$above" ] || mkdir -m 700 "$above"
    [ -d "$at" ] || mkdir "$at"
    if mountpoint -q "$at"; then fail "something else is mounted at $at"; fi
    if [ -n "$size" ]; then
        lvcreate --yes --snapshot --size "$size" --name "${snapshot#*/}" "$volume"
    else
        lvcreate --yes --snapshot --setactivationskip n --name "${snapshot#*/}" "$volume"
    fi
    options=ro,nosuid,nodev,noexec
    # XFS refuses to mount two file systems with one UUID.
    if [ "$(blkid -o value -s TYPE "$device")" = xfs ]; then options=$options,nouuid; fi
    mount -o "$options" "$device" "$at"
}

case $act in
    make)
        drop
        make
        ;;
    drop) drop ;;
    *) fail "unknown: $act" ;;
esac
