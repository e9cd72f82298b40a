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
#
# With a further word, LIST, both hooks also let the backup look only at what has changed. The snapshot of the last backup is
# kept as SNAPSHOT.last, and btrfs compares the two without reading files. Profiles share neither SNAPSHOT nor LIST, as-path is
# SUBVOLUME without links on the way, and nobody calls "make" while a backup runs.
#
#   changed-from0 = ["/var/lib/copal-home.list"]
#   changed-since = "@/var/lib/copal-home.list.since"
#   before-backup = ["/etc/copal/btrfs.sh", "make", "/home", "/home/.copal-snapshot", "/var/lib/copal-home.list"]
#   after-backup = ["/etc/copal/btrfs.sh", "drop", "/home", "/home/.copal-snapshot", "/var/lib/copal-home.list"]
set -eu
export LC_ALL=C
umask 077
fail() { echo "btrfs.sh: $1" >&2; exit 1; }
[ $# -eq 3 ] || [ $# -eq 4 ] || fail 'usage: btrfs.sh make|drop SUBVOLUME SNAPSHOT [LIST]'
act=$1 subvolume=$2 snapshot=${3%/} list=${4-}
last=$snapshot.last
for path in "$subvolume" "$snapshot" "${list:-/}"; do
    case $path in /*) ;; *) fail "$path is not absolute" ;; esac
done

uuid() { btrfs subvolume show "$1" | sed -n "s/^[[:space:]]*$2:[[:space:]]*//p"; }

# Whether something is a snapshot of the subvolume that this script may have made.
is_own() {
    own=$(uuid "$subvolume" UUID)
    [ -n "$own" ] && [ ! -L "$1" ] && [ "$(uuid "$1" 'Parent UUID')" = "$own" ] &&
        [ "$(btrfs property get -t subvol "$1" ro)" = ro=true ]
}

# Deletes a snapshot, also one that a killed run has left, and nothing else that lies there.
drop() {
    if [ ! -e "$1" ] && [ ! -L "$1" ]; then return; fi
    is_own "$1" || fail "$1 is no snapshot of $subvolume that this script has made (was that replaced?): remove it by hand, then run again"
    btrfs subvolume delete "$1"
}

# The subvolumes below, which a comparison does not name, without the snapshots of this script.
below() {
    all=$(btrfs subvolume list -o "$subvolume")
    echo "$all" | sed 's/^ID [0-9]* gen [0-9]* top level [0-9]* path //' |
        own=$(basename "$snapshot") awk -F / '$NF != ENVIRON["own"] && $NF != ENVIRON["own"] ".last"'
}

# Reads what btrfs writes of a stream, and then a line "complete". Writes the paths in it, and .copal-complete as the last if it
# has understood each line. Each path gets a made-up last name: otherwise a directory would be scanned completely whenever a
# name in it changed. The values of attributes are not escaped: users can add paths, or make the list fail, but hide none.
paths() {
    top=$1 name=./$(basename "$snapshot") awk '
        BEGIN {
            top = ENVIRON["top"]
            name = ENVIRON["name"]
            split("a b t n v f r e", letters, " ")
            for (i = 1; i <= 7; i++) byte["\\" letters[i]] = sprintf("%c", i + 6)
            byte["\\e"] = sprintf("%c", 27)
            # Here a newline ends a path, and \001 is a newline in a name. tr turns both into what the list has.
            byte["\\n"] = mark = sprintf("%c", 1)
        }
        function plain(text, out, two) {
            out = ""
            while (match(text, /\\/)) {
                out = out substr(text, 1, RSTART - 1)
                text = substr(text, RSTART)
                two = substr(text, 1, 2)
                if (text ~ /^\\[0-3][0-7][0-7]/) {
                    two = substr(text, 2, 1) * 64 + substr(text, 3, 1) * 8 + substr(text, 4, 1)
                    if (two <= 1) exit failed = 1
                    out = out (two == 10 ? mark : sprintf("%c", two))
                    text = substr(text, 5)
                    continue
                }
                if (two !~ /^\\[abtnvfre \\]$/) exit failed = 1
                out = out (two in byte ? byte[two] : substr(two, 2))
                text = substr(text, 3)
            }
            return out text
        }
        function put(path) {
            sub(/\/$/, "", path)
            if (index(path, name "/") == 1) path = substr(path, length(name) + 1)
            else if (path == name) path = ""
            else exit failed = 1
            if (path != before) print top path "/.copal-changed"
            before = path
        }
        function first(text) { match(text, /^([^ \\]|\\.)*/); return substr(text, 1, RLENGTH) }
        complete || $1 !~ /^[a-z_]+$/ { exit failed = 1 }
        $0 == "complete" && NR > 1 { complete = 1; next }
        $1 == "snapshot" && NR == 1 { next }
        NR == 1 { exit failed = 1 }
        {
            rest = substr($0, 17)
            from = first(rest)
            put(plain(from))
            if ($1 == "rename") {
                rest = substr(rest, length(from) + 1)
                if (!match(rest, /^ *dest=/)) exit failed = 1
                rest = substr(rest, RLENGTH + 1)
                if (first(rest) != rest) exit failed = 1
                put(plain(rest))
            }
        }
        END { if (complete && !failed) print top "/.copal-complete" }
    '
}

# Writes the list of changes since the last backup, and the id of the snapshot in the repository that this backup made. If
# either is unknown, it writes the id 00...0, which no snapshot has: the backup then scans everything. $1 is what "below"
# wrote before the snapshot was made.
changes() {
    printf '%032d\n' 0 > "$list.since"
    : > "$list"
    now=$(below)
    if [ "$now" = "$1" ]; then printf '%s\n' "$now" > "$list.below"; else rm -f "$list.below"; fi
    if [ "$now" != "$1" ] || [ ! -e "$list.last" ] || [ ! -e "$last" ] || ! is_own "$last"; then return; fi
    # A snapshot that another profile made, or an older one, is not the one that the id belongs to.
    own=$(uuid "$last" UUID)
    since=$(sed -n 2p "$list.last")
    if [ "$(cat "$list.last")" != "$(printf '%s\n%s\n%s\n' "$own" "$since" "$now")" ]; then return; fi
    top=$(readlink -f "$subvolume")
    top=${top%/}
    btrfs send --quiet --no-data -p "$last" "$snapshot" > "$list.stream" || : > "$list.stream"
    {
        case $last in "$top"/*) printf '%s\0' "$last" ;; esac
        { btrfs receive --dump < "$list.stream" && echo complete; } | paths "$top" | tr '\n\001' '\0\n'
    } > "$list" || true
    rm -f "$list.stream"
    # The last path is there only if all others are, whichever program has failed to write them.
    end=$top/.copal-complete
    if [ "$(tail -c $((${#end} + 1)) "$list" | tr '\0' '\n')" = "$end" ]; then
        echo "$since" > "$list.since"
    else
        echo "btrfs.sh: btrfs could not list the changes since $last: this backup scans everything" >&2
    fi
}

case $act in
    make)
        drop "$snapshot"
        if [ -n "$list" ]; then before=$(below); fi
        btrfs subvolume snapshot -r "$subvolume" "$snapshot"
        if [ -n "$list" ]; then changes "$before"; fi
        ;;
    drop)
        # On standard input is what became of the backup. If it made a snapshot, the next list begins here.
        id=
        if [ -n "$list" ]; then
            id=$(sed -n 's/.*"snapshot_id":"\([0-9a-f]\{32\}\)".*/\1/p')
            rm -f "$list"
        fi
        if [ -z "$id" ]; then drop "$snapshot"; exit; fi
        is_own "$snapshot" || fail "$snapshot is no snapshot of $subvolume that this script has made"
        # One file says which snapshot of btrfs belongs to which one of the repository. A list since an older snapshot would
        # lack what was changed and changed back. So wherever this ends early, the next backup scans everything.
        if [ -e "$list.below" ]; then
            { uuid "$snapshot" UUID; echo "$id"; cat "$list.below"; } > "$list.new"
            mv "$list.new" "$list.last"
        fi
        drop "$last"
        mv "$snapshot" "$last"
        ;;
    *) fail "unknown: $act" ;;
esac
