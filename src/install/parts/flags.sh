#!/bin/sh
# Flags of install.sh: reading and checking them.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

print=no task=install purge=no start=yes
database='' redis='' database_url='' redis_url='' bundle=''
prefix='' data_dir='' port=''
newline='
'

parse_flags() {
  while [ $# -gt 0 ]; do
    case $1 in
      --embedded | --with-postgres) choose_database "${1#--}" ;;
      --with-redis) choose_redis with-redis ;;
      --no-start) start=no ;;
      --upgrade) choose_task upgrade ;;
      --uninstall) choose_task uninstall ;;
      --purge) purge=yes ;;
      --print) print=yes ;;
      --prefix=* | --data-dir=* | --port=* | --database-url=* | --redis-url=* | --bundle=*)
        take_value "${1%%=*}" "${1#*=}"
        ;;
      --prefix | --data-dir | --port | --database-url | --redis-url | --bundle)
        [ $# -ge 2 ] || die 2 "$1 needs a value; see install.sh --help"
        take_value "$1" "$2"
        shift
        ;;
      --embedded=* | --with-postgres=* | --with-redis=* | --no-start=* | --upgrade=* | --uninstall=* | --purge=* | --print=*)
        die 2 "${1%%=*} takes no value; see install.sh --help"
        ;;
      -*) die 2 "there is no flag ${1%%=*}; see install.sh --help" ;;
      *) die 2 "install.sh takes no argument without a flag, but got \"$1\"; see install.sh --help" ;;
    esac
    shift
  done
  check_flags
}

choose_task() {
  [ "$task" = install ] || [ "$task" = "$1" ] || die 2 "--$task and --$1 exclude each other; give one of them"
  task=$1
}

choose_database() {
  [ -z "$database" ] || [ "$database" = "$1" ] || die 2 "--$database and --$1 exclude each other; give one of them"
  database=$1
}

choose_redis() {
  [ -z "$redis" ] || [ "$redis" = "$1" ] || die 2 "--$redis and --$1 exclude each other; give one of them"
  redis=$1
}

take_value() {
  case $2 in
    '' | -*) die 2 "$1 needs a value; see install.sh --help" ;;
    # The checks below look at each line for itself.
    *"$newline"*) die 2 "$1 must not contain a line break" ;;
  esac
  case $1 in
    --prefix) check_folder "$1" "$2" && refuse_second "$1" "$prefix" "${2%/}" && prefix=${2%/} ;;
    --data-dir) check_folder "$1" "$2" && refuse_second "$1" "$data_dir" "${2%/}" && data_dir=${2%/} ;;
    --port) check_port "$2" && refuse_second "$1" "$port" "$2" && port=$2 ;;
    --bundle) refuse_second "$1" "$bundle" "$2" && bundle=$2 ;;
    --database-url)
      choose_database database-url
      check_url "$1" "$2" 'postgres(ql)?' && refuse_second "$1" "$database_url" "$2" && database_url=$2
      ;;
    --redis-url)
      choose_redis redis-url
      check_url "$1" "$2" 'rediss?' && refuse_second "$1" "$redis_url" "$2" && redis_url=$2
      ;;
  esac
}

# Arguments: flag, its value so far, its value now.
refuse_second() {
  [ -z "$2" ] || [ "$2" = "$3" ] || die 2 "$1 is given twice with different values; give it once"
}

check_folder() {
  case $2 in
    /*) ;;
    *) die 2 "$1 must be an absolute path, but is \"$2\"" ;;
  esac
  printf '%s' "$2" | LC_ALL=C grep -Eqx '(/[A-Za-z0-9_.-]+)+/?' ||
    die 2 "$1 may contain letters, digits, \"_\", \".\", \"-\" and single \"/\" only, but is \"$2\""
  case "$2/" in
    */../* | */./*) die 2 "$1 must not contain \".\" or \"..\" as a folder, but is \"$2\"" ;;
  esac
  case ${2%/} in
    /bin | /boot | /dev | /dev/* | /etc | /etc/* | /home | /lib | /lib64 | /media | /mnt | /opt | /proc | /proc/* | \
      /root | /run | /run/* | /sbin | /srv | /sys | /sys/* | /tmp | /usr | /usr/bin | /usr/lib | /usr/local | \
      /usr/local/bin | /usr/sbin | /usr/share | /var | /var/lib | /var/log | /var/tmp)
      die 2 "$1 must be a folder of its own, and ${2%/} belongs to the system; choose another, such as ${2%/}/service"
      ;;
  esac
}

check_port() {
  if printf '%s' "$1" | grep -Eqx '[1-9][0-9]{3,4}' && [ "$1" -ge 1024 ] && [ "$1" -le 65535 ]; then return; fi
  die 2 "--port must be a number from 1024 to 65535, but is \"$1\"; for port 80 or 443 put a reverse proxy in front"
}

# The value itself is not repeated: it contains a password.
check_url() {
  printf '%s' "$2" | LC_ALL=C grep -Eqx "$3://[^[:space:][:cntrl:]\"'\\\\]+" ||
    die 2 "$1 must begin with $(printf '%s' "$3" | sed 's/(ql)?//; s/s?$//')://, without spaces, quotes and backslashes (write them as %20, %22, %27, %5C)"
}

check_flags() {
  if [ "$purge" = yes ] && [ "$task" != uninstall ]; then die 2 '--purge goes with --uninstall only'; fi
  if [ "$task" != install ]; then
    [ -z "$database$redis$prefix$data_dir$port" ] ||
      die 2 "--$task keeps the settings of the installation; give no other settings with it"
    [ "$start" = yes ] || die 2 "--no-start goes with an installation only, not with --$task"
  fi
  if [ "$database" = embedded ] && [ -n "$redis" ]; then
    die 2 "--embedded and --$redis exclude each other; Redis is used with --with-postgres or --database-url"
  fi
  if [ -z "$database" ] && [ -n "$redis" ]; then
    die 2 "--$redis needs --with-postgres or --database-url"
  fi
  if [ -n "$bundle" ] && { [ "$database" = with-postgres ] || [ "$redis" = with-redis ]; }; then
    note 'note: the bundle does not contain PostgreSQL and Redis; they come from the Debian packages that apt reaches' >&2
  fi
}
