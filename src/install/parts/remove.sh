#!/bin/sh
# Removal of the program and of the data.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

remove_program() {
  step 'Stop the service and remove the program'
  stop_service
  if [ "$host_init" = systemd ]; then
    for name in service-api.socket service-api.service service-worker-embed@.service service-worker-ingest@.service service-reaper.service; do
      run rm -f "$unit_dir/$name" "$unit_dir/$name.new"
    done
    run systemctl daemon-reload
  else
    run rm -f "$init_script" "$init_script.new"
    if command -v update-rc.d >/dev/null; then run_quietly update-rc.d service-api remove || true; fi
    remove_tree "$run_dir"
  fi
  run rm -f "$command_dir/service" "$command_dir/service.new" "$command_dir/embed-service" \
    "$command_dir/service-mcp"
  run rm -f "$prefix/current" "$prefix/current.new"
  for old in "$prefix"/versions/*; do [ ! -e "$old" ] || remove_release "$old"; done
  remove_tree "$prefix/versions"
  run rmdir "$prefix" 2>/dev/null || true
}

remove_data() {
  step 'Remove the data, the settings and the system user'
  # What a killed removal leaves of the data is not used again.
  status=purging
  [ "$print" = yes ] || write_state
  if [ "$created_database" = yes ] && [ "$print" = yes ]; then
    note '      drop the database and the role "service" in PostgreSQL'
  elif [ "$created_database" = yes ]; then
    found=$(find_cluster)
    pg_port=${found#* }
    (cd / && as_postgres -c 'drop database if exists service' && as_postgres -c 'drop role if exists service') >"$output" 2>&1 ||
      note "warning: the database and the role \"service\" remain in PostgreSQL ($(tail -n 1 "$output")); drop them by hand" >&2
  fi
  if [ "$created_user" = yes ] && getent passwd "$user" >/dev/null; then run userdel "$user" 2>/dev/null || true; fi
  if [ "$print" = no ] && getent group "$user" >/dev/null && [ "$created_user" = yes ]; then groupdel "$user" || true; fi
  remove_tree "$data_dir"
  remove_tree "$log_dir"
  # The state goes last: the next run goes on by it.
  run rm -f "$config" "$config.new"
  remove_tree "$config_dir"
  remaining=''
  for package in $packages; do ! is_package_installed "$package" || remaining="$remaining $package"; done
  [ -z "$remaining" ] || note "The Debian packages$remaining remain; remove them with: apt-get purge$remaining"
}

refuse_purging() {
  die 4 'a removal of the data was not finished, and they cannot be used any more; run "install.sh --uninstall --purge" first'
}

uninstall() {
  [ -n "$status" ] || die 4 "nothing is installed: there is no $state"
  [ "$status" != purging ] || [ "$purge" = yes ] || refuse_purging
  # Before anything is stopped or removed.
  for folder in "$prefix/versions" "$data_dir" "$log_dir" "$config_dir"; do
    mounted=$(find_mount_below "$folder")
    [ -z "$mounted" ] || die 4 "a file system is mounted on $mounted; unmount it first"
  done
  # First, so that an installation does not rely on what a killed removal leaves.
  if [ "$status" != purging ]; then status=uninstalled; fi
  [ "$print" = yes ] || write_state
  remove_program
  if [ "$purge" = yes ]; then
    remove_data
    [ "$print" = yes ] || note 'Everything is removed.'
    return
  fi
  [ "$print" = no ] || return 0
  note "The program is removed. The data are in $data_dir, the settings and the secret key in $config."
  note 'Run install.sh again to use them, or "install.sh --uninstall --purge" to remove them.'
}
