#!/bin/sh
# The program: user, folders, settings, start-up files, starting and stopping.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

create_user() {
  if getent passwd "$user" >/dev/null; then return 0; fi
  step "Create the system user $user"
  [ "$print" = yes ] || { created_user=yes && write_state; }
  run useradd --system --user-group --no-create-home --home-dir "$data_dir" --shell /usr/sbin/nologin "$user"
}

create_folders() {
  step "Create $data_dir (mode 0700) and $config (mode 0600)"
  run install -d -o "$user" -g "$user" -m 0700 "$data_dir"
  [ "$host_init" = systemd ] || run install -d -o "$user" -g "$user" -m 0750 "$log_dir"
  # Data of another installation may have belonged to another user.
  [ -z "$(find "$data_dir" -maxdepth 1 ! -user "$user" 2>/dev/null | head -n 1)" ] ||
    run chown -R "$user:$user" "$data_dir"
}

random_secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

# Writes the settings. The secrets of an unfinished or former installation are kept; other lines, too.
write_config() {
  secret_key=$(setting SERVICE_SECRET_KEY)
  cron_secret=$(setting SERVICE_CRON_SECRET)
  # With data there is a key already, and only that one can read them.
  if [ -z "$secret_key" ] && [ ! -e "$data_dir/secret.key" ]; then secret_key=$(random_secret); fi
  {
    printf '# Settings of the service, one NAME=value per line. Restart the service after a change.\n'
    printf 'SERVICE_DATA_DIR=%s\n' "$data_dir"
    printf 'SERVICE_HOST=%s\n' "$(setting SERVICE_HOST | grep . || echo 127.0.0.1)"
    printf 'SERVICE_PORT=%s\n' "$port"
    [ -z "$database_url" ] || printf 'DATABASE_URL=%s\n' "$database_url"
    [ -z "$redis_url" ] || printf 'REDIS_URL=%s\n' "$redis_url"
    [ -z "$secret_key" ] || printf '# The data are lost without this key: keep a copy in another place.\nSERVICE_SECRET_KEY=%s\n' "$secret_key"
    printf 'SERVICE_CRON_SECRET=%s\n' "${cron_secret:-$(random_secret)}"
    [ ! -r "$config" ] || grep -Ev '^#|^$|^(SERVICE_(DATA_DIR|HOST|PORT|SECRET_KEY|CRON_SECRET)|DATABASE_URL|REDIS_URL)=' "$config" || true
  } | write_file "$config" 600
}

# Fills in one of the files of src/install/files. Arguments: its name, path, mode.
install_file() {
  api='serve' memory=50%
  if [ "$database" = embedded ]; then memory=85%; else api='serve --no-workers'; fi
  if [ "$print" = yes ]; then
    printf '      write %s (mode %s)\n' "$2" "$3"
    return
  fi
  host=$(setting SERVICE_HOST)
  case $host in *:*) host="[$host]" ;; esac
  sed -e "s|@PREFIX@|$prefix|g" -e "s|@DATA_DIR@|$data_dir|g" -e "s|@MEMORY@|$memory|g" -e "s|@SERVE@|$api|g" \
    -e "s|@LISTEN@|$host:$(setting SERVICE_PORT)|g" "$release_dir/src/install/files/$1" | write_file "$2" "$3"
}

units() {
  if [ "$database" = embedded ]; then
    printf 'service-api.service\n'
  else
    printf 'service-reaper.service service-worker-ingest@1.service service-worker-embed@1.service service-api.service\n'
  fi
}

install_files() {
  step 'Install the command and the start-up files'
  install_file command.sh "$command_dir/service" 755
  run ln -sfn service "$command_dir/embed-service"
  run ln -sfn "$prefix/current/bin/service-mcp" "$command_dir/service-mcp"
  if [ "$host_init" = systemd ]; then
    for name in service-api.socket service-api.service service-worker-embed@.service service-worker-ingest@.service service-reaper.service; do
      case $database:$name in
        embedded:service-worker-* | embedded:service-reaper*) ;;
        *) install_file "$name" "$unit_dir/$name" 644 ;;
      esac
    done
    run systemctl daemon-reload
    # shellcheck disable=SC2046 # a list
    run_quietly systemctl enable service-api.socket $(units)
  else
    install_file init.sh "$init_script" 755
    if command -v update-rc.d >/dev/null; then run_quietly update-rc.d service-api defaults; fi
  fi
}

# Makes a release the current one, in one step.
switch_to() {
  run ln -sfn "versions/$1" "$prefix/current.new"
  run mv -fT "$prefix/current.new" "$prefix/current"
}

service_command() { run "$command_dir/service" "$@"; }

migrate() {
  step 'Bring the schema of the database up to date'
  run_quietly "$command_dir/service" db migrate
}
