#!/bin/sh
# Whole tasks: install, upgrade, and the way back.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

# What a failure or an interruption has to undo: nothing, install or upgrade.
undo=nothing

finish() {
  code=$?
  # Nobody may read the messages any more, as after Ctrl-C in "install.sh | tee log"; the undoing goes on all the same.
  trap '' HUP INT TERM PIPE
  trap - EXIT
  set +e
  case $undo in
    install)
      note 'Undo what was done' >&2
      remove_program >&2
      # Data that were there before stay; a folder, a user and settings of this attempt do not.
      if [ "$status" = new ]; then remove_data >&2; fi
      ;;
    upgrade)
      note "Go back to release $release" >&2
      if go_back >&2; then note "Release $release is in use again; nothing is lost." >&2
      else note "Release $release does not become ready either; see \"service doctor\" and the log" >&2; fi
      ;;
  esac
  rm -rf "$temporary"
  exit "$code"
}

go_back() {
  old_dir=$prefix/versions/$release
  switch_to "$release"
  release_dir=$old_dir
  install_files
  if [ "$was_running" = yes ]; then
    restart_service && wait_until_ready "$old_dir" || return 1
  fi
  remove_release "$prefix/versions/$new_release"
}

refuse_if_other_release() {
  if [ "$release" != "$new_release" ]; then
    die 4 "release $release is installed and this is $new_release; run install.sh --upgrade"
  fi
}

install_release() {
  [ "$status" != purging ] || refuse_purging
  if [ "$status" = installed ]; then
    refuse_if_other_release
    ensure_running
    return
  fi
  if ! is_running; then check_port_is_free; fi
  check_folders
  check_packages
  if [ "$print" = no ]; then
    mkdir -p "$config_dir"
    chmod 0755 "$config_dir"
    undo=install
    status=${status:-new}
    init=$host_init
    release=$new_release
    write_state
  fi
  # An installation or a removal that was killed may have left it running.
  [ "$print" = yes ] || ! is_running || stop_service
  stage_release
  check_servers
  provide_servers
  if [ "$database" = with-postgres ] || [ "$redis" = with-redis ]; then check_servers; fi
  create_user
  create_folders
  step "Write the settings to $config"
  write_config
  switch_to "$new_release"
  install_files
  if [ "$start" = yes ]; then
    migrate || die 5 'the schema of the database cannot be brought up to date; the reason is above'
    if ! { start_service && wait_until_ready "$release_dir"; }; then
      show_log
      die 1 'the service does not become ready; the reason is above'
    fi
  fi
  [ "$print" = no ] || return 0
  status=installed
  write_state
  undo=nothing
  report
}

# An installation of the same release: nothing is changed, unless the service does not run.
ensure_running() {
  if [ "$start" = no ] || is_running; then
    note "Release $release is installed; nothing to do."
    return
  fi
  note "Release $release is installed, but does not run."
  if ! { start_service && wait_until_ready "$prefix/current"; }; then
    show_log
    die 1 'the service does not become ready; the reason is above'
  fi
  [ "$print" = yes ] || report
}

upgrade() {
  case $status in
    installed) ;;
    purging) refuse_purging ;;
    new) die 4 'the last installation was not finished; run install.sh without --upgrade first' ;;
    *) die 4 'nothing is installed; run install.sh without --upgrade' ;;
  esac
  if [ "$release" = "$new_release" ] && [ "$(readlink "$prefix/current")" = "versions/$release" ]; then
    remove_other_releases
    note "Release $release is installed; nothing to do."
    return
  fi
  check_space "$prefix" "$release_mb"
  stage_release
  check_servers
  # The schema is changed first: the running release works with it, too.
  step 'Check the new release and bring the schema of the database up to date'
  migrate_with "$release_dir" || {
    remove_release "$release_dir"
    die 1 "release $new_release does not work here, and release $release goes on running; the reason is above"
  }
  was_running=$(is_running && echo yes || echo no)
  [ "$print" = yes ] || undo=upgrade
  step "Switch from release $release to $new_release"
  switch_to "$new_release"
  install_files
  if [ "$was_running" = yes ]; then
    if ! { restart_service && wait_until_ready "$release_dir"; }; then
      show_log
      die 1 "release $new_release does not become ready; the reason is above"
    fi
  fi
  # From here on there is no way back: it would remove the release that it goes back to.
  undo=nothing
  former=$release release=$new_release
  [ "$print" = yes ] || write_state
  step "Remove release $former"
  remove_other_releases
  [ "$print" = yes ] || note "Release $release is installed; release $former is removed."
}

# Removes all releases but the one in use: an upgrade that was killed leaves another.
remove_other_releases() {
  for other in "$prefix"/versions/* "$prefix/versions/.new"; do
    [ "$other" = "$prefix/versions/$release" ] || [ ! -e "$other" ] || remove_release "$other"
  done
}

# Runs the migrations of a release that is not the current one.
migrate_with() {
  if [ "$print" = yes ]; then
    note "      $1/bin/service db migrate"
    return
  fi
  sed "s|^release=.*|release=$1|" "$command_dir/service" >"$output.command" || return 1
  code=0
  run_quietly sh "$output.command" db migrate || code=$?
  rm -f "$output.command"
  return "$code"
}

report() {
  if [ "$start" = no ]; then
    note "Release $release is installed and not started. Start it with: $(start_command)"
    return
  fi
  note "The service is ready: $(address)"
  note "The console is at $(address)/console; sign in with the admin key."
  note "The admin key is in $data_dir/admin.key. A first request:"
  note "  curl $(address)/v1/embeddings -H \"Authorization: Bearer \$(cat $data_dir/admin.key)\" -H 'Content-Type: application/json' -d '{\"input\":\"Hello\"}'"
  note "Keep a copy of the secret key in $config in another place: without it the data cannot be read."
  [ "$host_init" = systemd ] || note "No systemd runs here: a supervisor keeps the service running; start it after a reboot with: $(start_command)"
}

start_command() {
  if [ "$host_init" = systemd ]; then
    note "systemctl start service-api.socket $(units)"
  else
    note "$init_script start"
  fi
}
