#!/bin/sh
# Hooks that let a backup read a snapshot of a btrfs subvolume, in which nothing changes:
#
#   [profiles.home.backup]
#   paths = ["/home/.copal"]
#   [profiles.home.hooks]
#   before-backup = ["/etc/copal/btrfs.sh", "make", "/home", "/home/.copal"]
#   after-backup = ["/etc/copal/btrfs.sh", "drop", "/home", "/home/.copal"]
#
# The snapshot always has the same path, so that each backup finds the one before. Only root may write to the directory
# that it lies in: others could put something else there.
set -eu
act=$1 subvolume=$2 snapshot=$3

# A run that was killed may have left one.
drop() {
    if btrfs subvolume show "$snapshot" > /dev/null 2>&1; then
        btrfs subvolume delete "$snapshot"
    fi
}

case $act in
    make) drop && btrfs subvolume snapshot -r "$subvolume" "$snapshot" ;;
    drop) drop ;;
    *) echo "unknown: $act" >&2 && exit 2 ;;
esac
