#!/bin/sh
# Hooks that let a backup read a snapshot of a ZFS dataset, in which nothing changes:
#
#   [profiles.home.backup]
#   paths = ["/mnt/.copal/home"]
#   as-path = "/home"
#   [profiles.home.hooks]
#   before-backup = ["/etc/copal/zfs.sh", "make", "pool/home", "/mnt/.copal/home"]
#   after-backup = ["/etc/copal/zfs.sh", "drop", "pool/home", "/mnt/.copal/home"]
#
# The snapshot is DATASET@copal. A dataset below is not in it: it needs a profile of its own. If the script makes the
# directory that the mount point lies in, only root may enter it. Only root may write to it in any case.
set -eu
fail() { echo "zfs.sh: $1" >&2; exit 1; }
[ $# -eq 3 ] || fail 'usage: zfs.sh make|drop DATASET MOUNTPOINT'
act=$1 dataset=$2 at=$3
case $dataset in -* | /* | *[@#]* | '') fail "$dataset is no dataset" ;; esac
case $at in /*) ;; *) fail "$at is not absolute" ;; esac
snapshot=$dataset@copal

# Takes the snapshot away, also one that a killed run has left.
drop() {
    while findmnt --source "$snapshot" --mountpoint "$at" > /dev/null; do
        umount "$at"
    done
    snapshots=$(zfs list -H -o name -t snapshot "$dataset")
    if printf '%s\n' "$snapshots" | grep -Fxq -- "$snapshot"; then
        zfs destroy "$snapshot"
    fi
}

make() {
    above=$(dirname "$at")
    [ -d "$above" ] || mkdir -m 700 "$above"
    [ -d "$at" ] || mkdir "$at"
    if mountpoint -q "$at"; then fail "something else is mounted at $at"; fi
    zfs snapshot "$snapshot"
    mount -t zfs -o ro,nosuid,nodev,noexec "$snapshot" "$at"
}

case $act in
    make)
        drop
        make
        ;;
    drop) drop ;;
    *) fail "unknown: $act" ;;
esac
