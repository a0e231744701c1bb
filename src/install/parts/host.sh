#!/bin/sh
# Checks of this host, which change nothing.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

check_host() {
  id='' id_like=''
  if [ -r /etc/os-release ]; then
    id=$(sed -n 's/^ID=//p' /etc/os-release | tr -d '"')
    id_like=$(sed -n 's/^ID_LIKE=//p' /etc/os-release | tr -d '"')
  fi
  case " $id $id_like " in
    *' debian '* | *' ubuntu '*) ;;
    *) die 4 "this installer supports Debian and Ubuntu, and this host is \"${id:-unknown}\"; elsewhere run \"npm ci && npm start\" in a checkout" ;;
  esac
  case $(uname -m) in
    x86_64) platform=linux-x64 ;;
    aarch64 | arm64) platform=linux-arm64 ;;
    *) die 4 "there is no Node.js 24 and no PostgreSQL for the processor $(uname -m) here; x86_64 and aarch64 are supported" ;;
  esac
  for tool in apt-get setpriv flock useradd start-stop-daemon sha256sum awk tar; do
    command -v "$tool" >/dev/null || die 4 "the command $tool is missing; install the packages apt, util-linux, passwd, dpkg, coreutils, mawk and tar"
  done
  [ "$print" = yes ] || [ "$(id -u)" -eq 0 ] || die 4 'run install.sh as root, for example with sudo; "install.sh --print" works without'
  if [ -d /run/systemd/system ]; then host_init=systemd; else host_init=sysv; fi
}

# Two installers at once would undo each other's steps.
take_lock() {
  [ "$print" = no ] || return 0
  exec 9>/run/lock/service-install.lock
  flock -n 9 || die 4 'another install.sh is running; wait until it has finished'
}

# True if a process of this host listens on the port, by any address.
port_is_taken() {
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
    awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }'
}

check_port_is_free() {
  if port_is_taken "$port"; then
    die 4 "port $port is taken; stop what listens there (ss -ltnp), or choose another with --port"
  fi
}

# Arguments: path that need not exist yet, megabytes that it needs.
check_space() {
  if [ -d "$1" ]; then folder=$1; else folder=$(find_parent "$1"); fi
  free_mb=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
  [ "$free_mb" -ge "$2" ] || die 4 "$1 needs $2 MB, and its file system has $free_mb MB free; make room, or choose another folder"
}

# Prints the nearest existing parent of a path.
find_parent() {
  parent=${1%/*}
  until [ -e "${parent:-/}" ]; do parent=${parent%/*}; done
  printf '%s\n' "${parent:-/}"
}

# Checks that a folder can be made, and that the user of the service can reach it. Arguments: flag, path.
check_reachable() {
  parent=$(find_parent "$2")
  [ -d "$parent" ] || die 4 "$1: $2 cannot be made, since $parent is no folder; choose another"
  mount_options=$(findmnt -n -o OPTIONS -T "$parent" 2>/dev/null || true)
  case $1:,$mount_options, in
    *,ro,*) die 4 "$1: $2 is on a file system that is mounted read-only; choose another folder" ;;
    --prefix:*,noexec,*) die 4 "$1: $2 is on a file system that is mounted noexec, and programs cannot be started there; choose another folder" ;;
  esac
  while [ "$parent" != / ]; do
    case $(stat -L -c '%U %A' "$parent" 2>/dev/null || echo '- x') in
      *x | *t | "$user "*) ;;
      *) die 4 "$1: the system user $user cannot reach $2, since $parent is closed to other users; choose another folder, or run: chmod o+x $parent" ;;
    esac
    parent=$(find_parent "$parent")
  done
}

check_folders() {
  case "$data_dir/" in
    "$prefix"/*) die 2 '--data-dir must not be inside --prefix: a removal of the program would remove the data' ;;
  esac
  case "$prefix/" in
    "$data_dir"/*) die 2 '--prefix must not be inside --data-dir, which only the service may read' ;;
  esac
  for folder in "$prefix" "$data_dir"; do
    [ ! -e "$folder" ] || [ -d "$folder" ] || die 4 "$folder exists and is no folder; choose another"
  done
  check_reachable --prefix "$prefix"
  check_reachable --data-dir "$data_dir"
  if [ -d "$data_dir" ] && [ "$status" = '' ]; then
    if [ -n "$(find "$data_dir" -mindepth 1 -maxdepth 1 ! -name lost+found | head -n 1)" ]; then
      [ -e "$data_dir/postgres" ] || [ -e "$data_dir/objects" ] ||
        die 4 "$data_dir contains other files; choose an empty folder with --data-dir"
      [ -e "$data_dir/secret.key" ] || [ -e "$config" ] ||
        die 4 "$data_dir contains data, but their secret key is missing; put $config back from a backup, or choose an empty folder with --data-dir"
    fi
  fi
  check_space "$prefix" "$release_mb"
  check_space "$data_dir" "$data_mb"
}

# Checks that Debian's PostgreSQL is new enough before apt installs it.
check_packages() {
  [ "$database" = with-postgres ] && [ "$(find_cluster)" = '' ] || return 0
  version=$(LC_ALL=C apt-cache policy postgresql 2>/dev/null | sed -n 's/^ *Candidate: \([0-9]*\).*/\1/p')
  [ -n "$version" ] || has_package_lists || return 0
  [ -n "$version" ] || die 5 'apt knows no package postgresql; run "apt-get update", or use --embedded or --database-url'
  [ "$version" -ge "$postgres_major_min" ] ||
    die 4 "this release of Debian has PostgreSQL $version, and $postgres_major_min or later is required; use --embedded or --database-url"
}

# Prints "version port" of a PostgreSQL of this host that is new enough.
find_cluster() {
  command -v pg_lsclusters >/dev/null || return 0
  pg_lsclusters -h | awk -v min="$postgres_major_min" '$1 + 0 >= min { found = $1 " " $3 } END { print found }'
}
