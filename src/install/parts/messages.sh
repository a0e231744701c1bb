#!/bin/sh
# Messages, and commands that are run or only printed.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

note() { printf '%s\n' "$*"; }

# Ends with an exit code and one line that says what to do.
die() {
  code=$1
  shift
  printf 'install.sh: %s\n' "$*" >&2
  exit "$code"
}

step() { printf '==> %s\n' "$*"; }

# Runs a command, or prints it.
run() {
  if [ "$print" = yes ]; then
    printf '      %s\n' "$*"
  else
    "$@"
  fi
}

# Runs a command whose output is only of interest if it fails. A server that it starts does not inherit the lock.
run_quietly() {
  if [ "$print" = yes ]; then
    printf '      %s\n' "$*"
  elif ! "$@" >"$output" 2>&1 </dev/null 9>&-; then
    tail -n 20 "$output" >&2
    return 1
  fi
}

# Writes standard input to a file: completely or not at all. Arguments: path, mode.
write_file() {
  if [ "$print" = yes ]; then
    cat >/dev/null
    printf '      write %s (mode %s)\n' "$1" "$2"
    return
  fi
  (umask 077 && cat >"$1.new")
  chmod "$2" "$1.new"
  if cmp -s "$1.new" "$1"; then rm -f "$1.new"; else mv -f "$1.new" "$1"; fi
}

# Prints the first mount point below a folder; the folder itself may be one.
find_mount_below() {
  awk -v folder="$1/" 'index($5, folder) == 1 { print $5; exit }' /proc/self/mountinfo
}

# Removes a folder, and never what is mounted in it.
remove_tree() {
  mounted=$(find_mount_below "$1")
  [ -z "$mounted" ] || die 4 "$1 is not removed, since a file system is mounted on $mounted; unmount it first"
  if mountpoint -q "$1"; then
    run find "$1" -xdev -mindepth 1 -delete
  else
    run rm -rf --one-file-system "$1"
  fi
}
