#!/bin/sh
# Installs Copal @VERSION@ for one user, or for all if root runs it. Nothing is put anywhere before the signature of the checksums
# and the checksum of the archive are found right.
#
#   curl --proto '=https' --tlsv1.2 -fsSL @FROM@/install.sh | sh
#   sh install.sh --to "$HOME/.local"
#
# COPAL_INSTALL_FROM is another address of the same files.
{ # A script that is cut off lacks the other brace, and does nothing.
set -eu

version=@VERSION@
from=${COPAL_INSTALL_FROM:-@FROM@}
# Only the holders of the secret key can sign a release (docs/releases.md).
key=@KEY@

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# What Rust calls this machine, as files of a release do.
machine() {
    case $(uname -s) in
        Linux) system=unknown-linux-musl ;;
        Darwin) system=apple-darwin ;;
        FreeBSD) system=unknown-freebsd ;;
        *) fail "there is no program for $(uname -s); build it from the sources" ;;
    esac
    case $(uname -m) in
        x86_64 | amd64) printf 'x86_64-%s' "$system" ;;
        aarch64 | arm64) printf 'aarch64-%s' "$system" ;;
        *) fail "there is no program for processors of kind $(uname -m); build it from the sources" ;;
    esac
}

download() {
    if has curl; then
        only=https
        [ -z "${COPAL_INSTALL_FROM:-}" ] || only=https,http
        curl --fail --silent --show-error --location --proto "=$only" --connect-timeout 30 --max-time 900 --max-filesize 200000000 \
            --retry 3 --output "$2" "$1" || fail "cannot download $1"
    else
        wget -q -t 1 -T 60 -O "$2" "$1" || fail "cannot download $1"
    fi
}

sha256() {
    if has sha256sum; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

# Whether the key has signed a file. Without minisign, openssl does the same: Ed25519 over the file's BLAKE2b.
is_signed() {
    if has minisign; then
        minisign -Vqm "$1" -x "$1.minisig" -P "$key" >/dev/null 2>&1
        return
    fi
    sed -n 2p "$1.minisig" | openssl base64 -d -A >"$work/signature" || return 1
    printf '%s' "$key" | openssl base64 -d -A >"$work/key" || return 1
    # Both begin with a kind of two bytes and a key number of eight; "ED" is Ed25519 over a hash.
    [ "$(head -c 2 "$work/signature")" = ED ] || return 1
    tail -c 64 "$work/signature" >"$work/raw"
    # A public key of Ed25519 in DER is these twelve bytes and the key.
    { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && tail -c 32 "$work/key"; } >"$work/key.der"
    openssl dgst -blake2b512 -binary "$1" >"$work/hash" || return 1
    openssl pkeyutl -verify -pubin -inkey "$work/key.der" -keyform DER -rawin -in "$work/hash" \
        -sigfile "$work/raw" >/dev/null 2>&1
}

# Puts a file where it belongs, in one step: a program that runs keeps the old one. The name before that is a new one: what
# somebody has put there, a link for example, is neither followed nor written to.
put() {
    folder=$(dirname -- "$3")
    mkdir -p -- "$folder"
    [ ! -d "$3" ] || fail "$3 is a directory"
    new=$(mktemp "$folder/.copal.XXXXXX")
    cp -- "$2" "$new"
    chmod "$1" "$new"
    mv -f -- "$new" "$3"
    new=
}

# Whether nobody but this user and root may change what lies in a directory, or in the nearest one above that is there.
is_own() {
    folder=$1
    while [ ! -d "$folder" ]; do folder=$(dirname -- "$folder"); done
    [ -O "$folder" ]
}

main() {
    # Others may read and run what is installed, and not change it, whatever this user is used to.
    umask 022
    to= given=
    while [ $# -gt 0 ]; do
        case $1 in
            --to) [ -n "${2:-}" ] || fail "--to needs a directory"; to=${2%/} given=yes; shift 2 ;;
            *) fail "usage: install.sh [--to DIR], which gets bin/copal and share/" ;;
        esac
    done
    if [ -z "$given" ]; then
        if [ "$(id -u)" = 0 ]; then to=/usr/local; else to=${HOME:?is not set: name a directory with --to}/.local; fi
    fi
    # Without its last slash, the root of the file system has no name.
    case $to in "" | /*) ;; *) to=$PWD/$to ;; esac
    [ "$(id -u)" != 0 ] || is_own "$to/bin" || fail "$to/bin belongs to another user, who could replace the program: install as that user"
    has curl || has wget || fail "curl or wget is needed"
    has tar || fail "tar is needed"
    has sha256sum || has shasum || fail "sha256sum or shasum is needed"
    has minisign || { has openssl && openssl pkeyutl -help 2>&1 | grep -q -e -rawin; } \
        || fail "minisign, or openssl 3, is needed to verify the signature: apt install minisign, brew install minisign"
    name=copal-$version-$(machine)

    work=$(mktemp -d)
    new=
    # On macOS, rm refuses an empty name and then deletes nothing.
    trap 'rm -rf "$work" ${new:+"$new"}' EXIT
    trap 'exit 1' HUP INT TERM
    download "$from/SHA256SUMS" "$work/SHA256SUMS"
    download "$from/SHA256SUMS.minisig" "$work/SHA256SUMS.minisig"
    is_signed "$work/SHA256SUMS" || fail "the signature of $from/SHA256SUMS is wrong: nothing is installed"
    wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
    [ -n "$wanted" ] || fail "Copal $version has no program for this machine ($name)"
    download "$from/$name.tar.gz" "$work/archive"
    [ "$(sha256 "$work/archive")" = "$wanted" ] || fail "the checksum of $name.tar.gz is wrong: nothing is installed"
    tar -xzf "$work/archive" -C "$work"
    "$work/$name/copal" version >/dev/null || fail "the program does not run on this machine, or not from $work (TMPDIR names another directory): nothing is installed"

    for page in "$work/$name"/man/*; do
        put 644 "$page" "$to/share/man/man1/${page##*/}"
    done
    put 644 "$work/$name/completions/copal.bash" "$to/share/bash-completion/completions/copal"
    put 644 "$work/$name/completions/_copal" "$to/share/zsh/site-functions/_copal"
    put 644 "$work/$name/completions/copal.fish" "$to/share/fish/vendor_completions.d/copal.fish"
    for licence in "$work/$name"/licences/*; do
        put 644 "$licence" "$to/share/doc/copal/${licence##*/}"
    done
    # The program last: without it, nothing of the rest counts.
    put 755 "$work/$name/copal" "$to/bin/copal"
    printf 'Copal %s is in %s\n' "$version" "$to/bin/copal"
    case :$PATH: in
        *:"$to/bin":*) ;;
        *) printf "Add it to the search path: export PATH=\"%s:\$PATH\"\n" "$to/bin" ;;
    esac
}

main "$@"
}
