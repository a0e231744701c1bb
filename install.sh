#!/bin/sh
# Installs, upgrades and removes the service on Debian and Ubuntu. "install.sh --help" tells every flag, and
# "install.sh --print" with other flags tells every step without changing anything.
# shellcheck disable=SC2034,SC2154 # shared with src/install/parts
set -eu
umask 022

config_dir=/etc/service
config=$config_dir/service.env
state=$config_dir/install.conf
log_dir=/var/log/service
run_dir=/run/service
command_dir=/usr/local/bin
unit_dir=/etc/systemd/system
init_script=/etc/init.d/service-api
user=service
postgres_major_min=15
ready_seconds=120
# What an installed release takes, its preparation included, and the least that the data need.
release_mb=1300
data_mb=512
# The npm that is fetched for hosts without a usable one, and its checksum in the registry.
npm_version=11.6.2
npm_integrity=sha512-7iKzNfy8lWYs3zq4oFPa8EXZz5xt9gQNKJZau3B1ErLBb6bF7sBJ00x09485DOvRT2l5Gerbl3VlZNT57MxJVA==

usage() {
  cat <<'TEXT'
Usage: install.sh [FLAG…]

Installs the service on Debian or Ubuntu, starts it and waits until it is ready. Running it twice changes nothing.

What to install (one of these; the default is --embedded):
  --embedded             use the PostgreSQL that the service brings along; needs nothing else
  --with-postgres        install Debian's PostgreSQL (15 or later) on this host and use it
  --database-url URL     use this PostgreSQL: postgres://user:password@host:5432/database
With --with-postgres or --database-url also one of:
  --with-redis           install Debian's Redis on this host and use it
  --redis-url URL        use this Redis: redis://user:password@host:6379

Where (only at the first installation):
  --prefix DIR           folder of the program (default: /opt/service)
  --data-dir DIR         folder of the data, readable only for the service (default: /var/lib/service)
  --port PORT            port of the API, 1024 to 65535 (default: 8080)
  --no-start             install, but start nothing

Other tasks:
  --upgrade              replace the installed release by this one; go back to it if this one does not become ready
  --uninstall            remove the program; keep the data, the settings and the secret key
  --uninstall --purge    remove the data, the settings and the system user too
  --bundle FILE          install or upgrade from a file made by "npm run bundle", without any network; where
                         install.sh is without its checkout, --uninstall needs it too
  --print                print every step, change nothing
  -h, --help             print this text

Exit codes: 0 done, 1 fault, 2 wrong usage, 4 refused, 5 a dependency is down.
TEXT
}

# A plain "su" leaves the PATH of the user, without the programs of root.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
temporary=''
part_names='messages flags state host release servers program running remove tasks'

# Prints the value of --bundle; it is needed before the other flags are read.
find_bundle() {
  while [ $# -gt 0 ]; do
    case $1 in
      --bundle) printf '%s\n' "${2-}" ;;
      --bundle=*) printf '%s\n' "${1#*=}" ;;
    esac
    shift
  done
}

# Prints the names of the flags, without their values, since these can be passwords: a wrong name is seen in them.
given_flags() {
  names=$(for flag in "$@"; do case $flag in -*) printf ' %s' "${flag%%=*}" ;; esac; done)
  [ -z "$names" ] || printf ', also with --uninstall; the flags were:%s' "$names"
}

# Prints the folder with the parts of this script: beside it, or else taken from the bundle.
find_parts() {
  if [ -e "$here/src/install/parts/tasks.sh" ]; then
    printf '%s\n' "$here/src/install/parts"
    return
  fi
  file=$(find_bundle "$@" | tail -n 1)
  [ -n "$file" ] || fail "install.sh needs the checkout that it belongs to, or --bundle FILE$(given_flags "$@")"
  [ -r "$file" ] || fail "--bundle: the file $file cannot be read"
  # They are near the beginning of the bundle, and tar stops when it has found the last of them.
  # shellcheck disable=SC2046,SC2086 # lists
  tar -xzf "$file" -C "$temporary" --occurrence=1 $(printf 'service/src/install/parts/%s.sh ' $part_names) 2>/dev/null ||
    fail "--bundle: $file is no bundle, or is damaged; copy it again, and compare its checksum"
  printf '%s\n' "$temporary/service/src/install/parts"
}

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 2
}

case " $* " in
  *' -h '* | *' --help '*)
    usage
    exit 0
    ;;
esac
temporary=$(mktemp -d)
output=$temporary/output
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' HUP INT TERM PIPE
parts=$(find_parts "$@")
for part in $part_names; do
  # shellcheck source=/dev/null # the parts are checked one by one
  . "$parts/$part.sh"
done
parse_flags "$@"
check_host
take_lock
trap finish EXIT
read_state
set_defaults
[ "$print" = no ] || note "These are the steps; nothing is changed."
[ "$task" = uninstall ] || new_release=$(find_release)
case $task in
  uninstall) uninstall ;;
  install) install_release ;;
  upgrade) upgrade ;;
esac
