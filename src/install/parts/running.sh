#!/bin/sh
# Starting, stopping and watching the service.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

is_running() {
  if [ "$host_init" = systemd ]; then systemctl is-active --quiet service-api.service 2>/dev/null
  else [ -x "$init_script" ] && "$init_script" status >/dev/null 2>&1; fi
}

start_service() {
  step 'Start the service'
  restarts=0
  if [ "$host_init" = systemd ]; then
    # shellcheck disable=SC2046 # a list
    run_quietly systemctl start service-api.socket $(units)
  else
    run_quietly "$init_script" start
  fi
}

# Restarts every program from the current release; the port stays open all the time.
restart_service() {
  if [ "$host_init" = systemd ]; then
    # The counters of a broken release are not those of this one. A unit that waits for its next start is restarted too:
    # "start" would wait for that start, which counts.
    # shellcheck disable=SC2046 # a list
    run_quietly systemctl reset-failed $(units) || true
    for name in $(units); do run_quietly systemctl restart "$name" || return 1; done
  elif ! is_running; then
    start_service
  else
    restarts=$(($(restarts_so_far) + 1))
    run_quietly "$init_script" reload
  fi
}

restarts_so_far() {
  sed -n 's/.*"restarts":\([0-9]*\).*/\1/p' "$run_dir/status.json" 2>/dev/null | grep . || echo 0
}

stop_service() {
  if [ "$host_init" = systemd ]; then
    # shellcheck disable=SC2046 # a list
    [ ! -e "$unit_dir/service-api.socket" ] || run_quietly systemctl disable --now service-api.socket $(units) || true
  elif [ -x "$init_script" ]; then
    run_quietly "$init_script" stop || true
  fi
}

# Prints the address at which this host reaches the API.
address() {
  host=$(setting SERVICE_HOST)
  case $host in
    '' | 0.0.0.0 | ::) host=127.0.0.1 ;;
    *:*) host="[$host]" ;;
  esac
  printf 'http://%s:%s\n' "$host" "$(setting SERVICE_PORT | grep . || echo "$port")"
}

# Argument: folder of the release whose code does the check.
wait_until_ready() {
  step "Wait until $(address)/readyz answers"
  set -- "$1" "$1/src/install/wait-ready.ts" --url "$(address)/readyz" --seconds "$ready_seconds"
  if [ "$host_init" = systemd ]; then
    set -- "$@" --units "$(units)"
  else
    set -- "$@" --status "$run_dir/status.json" --restarts "$restarts"
  fi
  node=$1/node_modules/.bin/node
  shift
  run_quietly "$node" "$@"
}

show_log() {
  [ "$print" = no ] || return 0
  note 'The last lines of the log of the service:' >&2
  if [ "$host_init" = systemd ]; then
    journalctl -n 15 --no-pager -o cat -u 'service-*' >&2 || true
  else
    tail -n 15 "$log_dir/service.log" >&2 2>/dev/null || true
  fi
}
