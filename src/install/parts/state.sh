#!/bin/sh
# State of the installation on this host, and its settings.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

# The file of the state has one name=value per line. status is "new" (unfinished), "installed", "uninstalled",
# or "purging" while the data are removed.
state_names='status prefix data_dir database redis init release created_user created_database packages'
status='' init='' release='' created_user=no created_database=no packages=''

read_state() {
  [ ! -e "$state" ] || [ -r "$state" ] || die 4 "only root may read $state, so run install.sh --print as root on this host"
  [ -r "$state" ] || return 0
  asked_prefix=$prefix asked_data_dir=$data_dir asked_database=$database asked_redis=$redis
  while IFS='=' read -r name value; do
    case " $state_names " in
      *" $name "*) eval "$name=\$value" ;;
    esac
  done <"$state"
  # An unfinished installation may be finished in another way; but its folders are needed to remove what exists.
  if [ "$status" = new ]; then
    [ -z "$asked_database" ] || { database=$asked_database redis=$asked_redis; }
  else
    refuse_change --embedded/--with-postgres/--database-url "$asked_database" "$database"
    refuse_change --with-redis/--redis-url "$asked_redis" "$redis"
  fi
  refuse_change --prefix "$asked_prefix" "$prefix"
  refuse_change --data-dir "$asked_data_dir" "$data_dir"
  if [ "$status" != new ]; then
    refuse_change --port "$port" "$(setting SERVICE_PORT)"
    refuse_change --database-url "$database_url" "$(setting DATABASE_URL)"
    refuse_change --redis-url "$redis_url" "$(setting REDIS_URL)"
  fi
}

set_defaults() {
  prefix=${prefix:-/opt/service}
  data_dir=${data_dir:-/var/lib/service}
  database=${database:-embedded}
  port=${port:-$(setting SERVICE_PORT | grep . || echo 8080)}
  database_url=${database_url:-$(setting DATABASE_URL)}
  redis_url=${redis_url:-$(setting REDIS_URL)}
}

# Arguments: flag, value of the command line, value of the installation.
refuse_change() {
  if [ -z "$2" ] || [ "$2" = "$3" ]; then return 0; fi
  die 4 "$1 differs from the installation on this host; leave the flag out, or change $config and restart the service"
}

write_state() {
  for name in $state_names; do
    eval "printf '%s=%s\n' \"\$name\" \"\${$name}\""
  done | write_file "$state" 600
}

# Prints a setting of the installation.
setting() {
  [ -r "$config" ] || return 0
  sed -n "s/^$1=//p" "$config" | tail -n 1
}
