# Sourced by c/run and python/run: their arguments, and what both of them build. Builds print to stderr.

usage="usage: $0 [--listen ADDRESS] [--component FILE] [--database FILE]"
polyglot=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$polyglot/../.." && pwd)
products=$root/examples/products
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/polyglot/$language
listen=127.0.0.1:0
component=
database=$polyglot/$language/products.sqlite

fail() {
    echo "error: $*" >&2
    exit 1
}

# A tool that must be there, with how to get it.
needs() { command -v "$1" >/dev/null || fail "\`$1\` is not there: $2"; }

while [ $# -gt 0 ]; do
    case $1 in
    --listen | --component | --database)
        [ $# -gt 1 ] || fail "\`$1\` needs a value; $usage"
        printf -v "${1#--}" %s "$2"
        shift 2
        ;;
    -h | --help)
        echo "$usage"
        exit
        ;;
    *) fail "unknown argument \`$1\`; $usage" ;;
    esac
done
[[ $listen =~ :[0-9]{1,5}$ ]] || fail "\`--listen $listen\`: expected an address and a port, such as 127.0.0.1:8080"
[ -z "$component" ] || [ -f "$component" ] || fail "\`--component $component\`: there is no such file"
mkdir -p "$work"

# Runs cargo in the repository, for the release.
cargo_does() {
    needs cargo "install Rust from https://rustup.rs"
    (cd "$root" && CARGO_TARGET_DIR=$target cargo "$@") >&2
}

# The controllers of examples/products, built by the command `pointwork`; POINTWORK names one that is built already.
build_component() {
    [ -z "$component" ] || return 0
    local out=$target/polyglot
    if [ -n "${POINTWORK:-}" ]; then
        "$POINTWORK" build "$products/controllers" --out "$out" >&2
    else
        cargo_does run --release -p pointwork-cli -- build "$products/controllers" --out "$out"
    fi
    component=$out/products.wasm
}
