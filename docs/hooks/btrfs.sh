#!/bin/sh
# Hooks that let a backup read a snapshot of a btrfs subvolume, in which nothing changes:
#
#   [profiles.home.backup]
#   paths = ["/home/.copal-snapshot"]
#   as-path = "/home"
#   [profiles.home.hooks]
#   before-backup = ["/etc/copal/btrfs.sh", "make", "/home", "/home/.copal-snapshot"]
#   after-backup = ["/etc/copal/btrfs.sh", "drop", "/home", "/home/.copal-snapshot"]
#
# The snapshot lies on the same file system. Only root may write to the directory that it lies in: others could put
# something else there. A subvolume below is not in the snapshot: it needs a profile of its own.
set -eu
fail() { echo "btrfs.sh: $1" >&2; exit 1; }
[ $# -eq 3 ] || fail 'usage: btrfs.sh make|drop SUBVOLUME SNAPSHOT'
act=$1 subvolume=$2 snapshot=$3
case $subvolume in /*) ;; *) fail "$subvolume is not absolute" ;; esac
case $snapshot in /*) ;; *) fail "$snapshot is not absolute" ;; esac

uuid() { btrfs subvolume show "$1" | sed -n "s/^[[:space:]]*$2:[[:space:]]*//p"; }

# Deletes the snapshot, also one that a killed run has left, and nothing else that lies there.
drop() {
    if [ ! -e "$snapshot" ] && [ ! -L "$snapshot" ]; then return; fi
    own=$(uuid "$subvolume" UUID)
    if [ -z "$own" ] || [ -L "$snapshot" ] || [ "$(uuid "$snapshot" 'Parent UUID')" != "$own" ] ||
        [ "$(btrfs property get -t subvol "$snapshot" ro)" != ro=true ]; then
        fail "$snapshot is no snapshot of $subvolume that this script has made: take it away"
    fi
    btrfs subvolume delete "$snapshot"
}

case $act in
    make)
        drop
        btrfs subvolume snapshot -r "$subvolume" "$snapshot"
        ;;
    drop) drop ;;
    *) fail "unknown: $act" ;;
esac
