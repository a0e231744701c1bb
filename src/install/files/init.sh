#!/bin/sh
### BEGIN INIT INFO
# Provides:          service-api
# Required-Start:    $remote_fs $network
# Required-Stop:     $remote_fs $network
# Should-Start:      postgresql redis-server
# Should-Stop:       postgresql redis-server
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: embedding and retrieval service
### END INIT INFO

# Starts the supervisor of the service, which keeps its programs running. For hosts without systemd.
set -eu

config=/etc/service/service.env
release=@PREFIX@/current
run=/run/service
pidfile=$run/supervisor.pid
log=/var/log/service/service.log

is_running() {
  start-stop-daemon --status --pidfile "$pidfile" --user service >/dev/null 2>&1
}

start() {
  if is_running; then
    echo "service-api: it is running"
    return
  fi
  install -d -o service -g service -m 0755 "$run"
  install -d -o service -g service -m 0750 "${log%/*}"
  rm -f "$run/status.json"
  [ -e "$log" ] || install -o service -g service -m 0640 /dev/null "$log"
  while IFS= read -r line; do
    case $line in
      '' | '#'*) ;;
      *=*) export "${line%%=*}=${line#*=}" ;;
    esac
  done <"$config"
  export HOME=@DATA_DIR@
  umask 077
  # shellcheck disable=SC2094 # the supervisor gets the name of its log in order to rotate it
  start-stop-daemon --start --background --no-close --make-pidfile --pidfile "$pidfile" --chuid service:service \
    --chdir @DATA_DIR@ --startas "$release/node_modules/.bin/node" -- "$release/src/install/supervise.ts" \
    --current "$release" --run "$run" --log "$log" </dev/null >>"$log" 2>&1
}

stop() {
  start-stop-daemon --stop --oknodo --quiet --pidfile "$pidfile" --user service --retry TERM/40/KILL/5
  rm -f "$pidfile" "$run/status.json"
}

case "${1-}" in
  start) start ;;
  stop) stop ;;
  restart) stop; start ;;
  # The programs are restarted one after the other; the port stays open.
  reload | force-reload) start-stop-daemon --stop --quiet --pidfile "$pidfile" --user service --signal HUP ;;
  status)
    if is_running; then
      echo "service-api: it is running"
    else
      echo "service-api: it is not running"
      exit 3
    fi
    ;;
  *)
    echo "usage: $0 start|stop|restart|reload|status" >&2
    exit 2
    ;;
esac
