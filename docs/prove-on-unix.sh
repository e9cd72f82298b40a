#!/bin/sh
# Shows on a real macOS or FreeBSD what cannot be shown by compiling for it (docs/cli.md, "What is unproven on macOS and
# FreeBSD?"). It also runs on Linux, where the tests run it.
#
#   sh prove-on-unix.sh /path/to/copal
#
# Works below a new directory in TMPDIR and deletes it. Needs no rights.
set -u
copal=$1
system=$(uname -s)
# By its path without links: macOS has one before its temporary directory.
work=$(cd "$(mktemp -d "${TMPDIR:-/tmp}/copal-proof.XXXXXX")" && pwd -P)
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
export COPAL_PASSWORD='a passphrase for this proof' COPAL_REPOSITORY="$work/repository"
export COPAL_STATE_DIR="$work/state" COPAL_CACHE_DIR="$work/cache"
source=$work/source
back=$work/back$source
failed=0

# prove WHAT COMMAND...: whether the command succeeds.
prove() {
    what=$1
    shift
    if "$@" >"$work/told" 2>&1; then
        printf 'proven  %s\n' "$what"
    else
        printf 'FAILED  %s\n' "$what"
        cat "$work/told"
        failed=$((failed + 1))
    fi
}

# One line on an entry: kind, mode, size, when it was changed, names, target of a link. A directory's size and links are the file
# system's own business.
look() {
    if [ -d "$1" ] && [ ! -L "$1" ]; then gnu='%A %Y %n' bsd='%Sp %m %N'; else gnu='%A %s %Y %h %N' bsd='%Sp %z %m %l %N %Y'; fi
    case $system in
        Linux) stat -c "$gnu" "$1" ;;
        *) stat -f "$bsd" "$1" ;;
    esac
}

# All entries of a tree, except those whose path is too long for these tools.
entries() {
    (cd "$1" && find . -name '1-000*' -prune -o -print | LC_ALL=C sort | while IFS= read -r path; do look "$path"; done)
}

# All attributes but those that macOS makes by itself.
attributes() {
    case $system in
        Darwin) (cd "$1" && xattr -lsrx . 2>/dev/null | grep -v 'com.apple.\(provenance\|macl\|rootless\)' | LC_ALL=C sort) ;;
        Linux) (cd "$1" && getfattr -hRd -m . . 2>/dev/null) ;;
    esac
}

# When a directory was made, in seconds since 1970; nothing if the system does not know.
births() {
    stat -f %B "$1/directory" | grep '[1-9]'
}

# equal LOOK: whether both trees look alike. A tree of which nothing is seen does not.
equal() {
    "$1" "$source" >"$work/there"
    "$1" "$back" >"$work/here"
    grep -q . "$work/there" && diff "$work/there" "$work/here"
}

deep() {
    [ "$(find "$back" -name deep -execdir cat '{}' ';')" = 'far below' ]
}

is_sparse() {
    [ "$(du -k "$1" | cut -f 1)" -lt 10240 ]
}

mkdir -p "$source/directory/inside" "$source/replaced/below" "$source/surplus/below"
printf 'text' >"$source/directory/file"
ln "$source/directory/file" "$source/second name"
ln -s directory/file "$source/link"
ln -s nowhere "$source/dangling"
mkfifo "$source/pipe"
printf 'read only' >"$source/closed"
touch -t 200102030405.06 "$source/directory/file" "$source/directory/inside"
touch -h -t 199901020304.05 "$source/link"
printf 'old' >"$source/old"
touch -t 196001020304.05 "$source/old"
printf 'composed' >"$source/$(printf 'e\314\201')"
printf 'begins' >"$source/sparse"
printf 'ends' | dd of="$source/sparse" bs=1 seek=33554432 conv=notrunc 2>/dev/null
(
    cd "$source" || exit
    for number in 1 2 3 4 5 6; do
        name=$number-$(printf '%0200d' 0)
        mkdir "$name" && cd -P "$name" || exit
    done
    printf 'far below' >deep
)
case $system in
    Darwin)
        xattr -w user.note 'a note' "$source/closed"
        xattr -w com.apple.ResourceFork "$(printf '%0100000d' 7)" "$source/directory/file"
        xattr -wx com.apple.FinderInfo 0000000000000000400000000000000000000000000000000000000000000000 "$source/directory"
        xattr -ws user.note 'of a link' "$source/link"
        find / -type f -name '*.txt' -size +20k -exec ditto --hfsCompression '{}' "$source/compressed" ';' -quit 2>/dev/null
        # Made in 2001, changed in 2005: macOS takes the older of the two for the first.
        touch -t 200102030405.06 "$source/directory" && touch -t 200502030405.06 "$source/directory"
        ;;
    Linux) setfattr -n user.note -v 'a note' "$source/closed" || exit 1 ;;
esac
chmod 4511 "$source/closed"

# Creating without replacing: init lets 8 threads race for one name, and refuses a file system where two win.
prove 'a name is never replaced (the race of init)' "$copal" init
prove 'a backup' "$copal" backup "$source"
prove 'a restore' "$copal" restore latest --target "$work/back"
prove 'content' diff -r "$source/directory" "$back/directory"
prove 'content with a hole' cmp "$source/sparse" "$back/sparse"
prove 'a long path' deep
prove 'kinds, modes, times, links' equal entries
case $system in
    Linux)
        prove 'extended attributes' equal attributes
        prove 'holes' is_sparse "$back/sparse"
        ;;
    Darwin)
        prove 'extended attributes' equal attributes
        prove 'when a directory was made' equal births
        prove 'a file that is kept compressed' cmp "$source/compressed" "$back/compressed"
        ;;
esac
prove 'nothing has changed, as far as the next backup sees' sh -c '"$1" backup "$2" | grep "0 new, 0 changed"' sh "$copal" "$source"

# Onto the first restore: a directory becomes a file, one goes, an attribute becomes shorter.
rm -r "$source/replaced" "$source/surplus"
printf 'a file' >"$source/replaced"
[ "$system" != Darwin ] || xattr -w com.apple.ResourceFork 'short' "$source/directory/file"
prove 'a second backup' "$copal" backup "$source"
prove 'a second restore, onto the first' "$copal" restore latest --target "$work/back" --delete
prove 'kinds, modes, times, links, after that' equal entries
[ "$system" != Darwin ] || prove 'extended attributes, after that' equal attributes
prove 'every byte of the repository' "$copal" check --full

mkdir "$work/letters"
printf 'small' >"$work/letters/name"
if [ -e "$work/letters/NAME" ]; then
    mkdir "$work/capitals" && printf 'capitals' >"$work/capitals/NAME"
    "$copal" backup "$work/capitals" >/dev/null
    mkdir -p "$work/onto$work/capitals" && printf 'small' >"$work/onto$work/capitals/name"
    "$copal" restore latest --target "$work/onto" >/dev/null 2>&1
    prove 'a file does not replace one whose name differs in the case of its letters' grep small "$work/onto$work/capitals/name"
fi
printf '%s not proven\n' "$failed"
[ "$failed" = 0 ]
