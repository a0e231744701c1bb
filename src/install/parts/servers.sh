#!/bin/sh
# PostgreSQL and Redis of this host.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

start_debian_service() {
  if [ "$host_init" = systemd ]; then
    run_quietly systemctl enable --now "$1"
  else
    run_quietly "/etc/init.d/$1" start
  fi || die 5 "$1 does not start; see its log in /var/log"
}

as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups psql -X -q -A -t -v ON_ERROR_STOP=1 -p "$pg_port" "$@" </dev/null; }

# Installs PostgreSQL and Redis and makes their URLs.
provide_servers() {
  if [ "$redis" = with-redis ]; then
    install_packages redis-server
    start_debian_service redis-server
    redis_url=redis://127.0.0.1:6379
  fi
  [ "$database" = with-postgres ] || return 0
  if [ -z "$(find_cluster)" ]; then install_packages postgresql; fi
  start_debian_service postgresql
  database_url=$(setting DATABASE_URL)
  step 'Create the role and the database "service" in PostgreSQL'
  if [ "$print" = yes ]; then
    database_url=${database_url:-postgres://service@127.0.0.1:5432/service}
    return
  fi
  found=$(find_cluster)
  [ -n "$found" ] || die 5 "PostgreSQL $postgres_major_min or later is not running on this host; see pg_lsclusters"
  pg_port=${found#* }
  role=$(cd / && as_postgres -c "select 1 from pg_roles where rolname = 'service'") ||
    die 5 "PostgreSQL does not answer on port $pg_port; see pg_lsclusters"
  if [ "$role" = 1 ] && [ -z "$database_url" ]; then
    die 4 'PostgreSQL has a role "service" of another origin; use --database-url, or remove the role'
  fi
  [ -n "$database_url" ] || database_url=postgres://service:$(random_secret)@127.0.0.1:$pg_port/service
  password=${database_url#postgres://service:}
  password=${password%%@*}
  # The settings come first: a killed installation must know the password, and what it has created.
  created_database=yes
  write_state
  write_config
  (
    cd /
    [ "$role" = 1 ] || as_postgres -c 'create role service login'
    printf "alter role service login password '%s'\n" "$password" | setpriv --reuid=postgres --regid=postgres --init-groups \
      psql -X -q -v ON_ERROR_STOP=1 -p "$pg_port"
    [ "$(as_postgres -c "select 1 from pg_database where datname = 'service'")" = 1 ] ||
      as_postgres -c "create database service owner service encoding 'UTF8' template template0 locale 'C.UTF-8'"
  ) >"$output" 2>&1 || die 5 "the database cannot be created in PostgreSQL ($(tail -n 1 "$output"))"
}

check_servers() {
  [ -n "$database_url$redis_url" ] || return 0
  step 'Check the database and Redis'
  [ "$print" = no ] || return 0
  if ! DATABASE_URL=$database_url REDIS_URL=$redis_url "$release_dir/node_modules/.bin/node" \
    "$release_dir/src/install/check-dependencies.ts" >"$output" 2>&1; then
    # The last line begins with the exit code: 4 or 5.
    fault=$(tail -n 1 "$output")
    case $fault in
      [45]' '*) ;;
      *) fault="1 the database and Redis cannot be checked: $fault" ;;
    esac
    die "${fault%% *}" "${fault#* }"
  fi
}
