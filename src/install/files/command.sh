#!/bin/sh
# Command line of the installed service: runs it as the system user of the service, with the settings of the service.
set -eu

config=/etc/service/service.env
release=@PREFIX@/current

# The program is also there as embed-service, which hides nothing.
name=${0##*/}
if [ "$name" = embed-service ]; then export SERVICE_COMMAND_NAME=embed-service; fi

# Debian has a command of the same name, which this file hides: "service NAME restart" is passed on to it.
case "$name:${1-}:${2-}" in
  embed-service:*) ;;
  *:--status-all:* | *:*:start | *:*:stop | *:*:restart | *:*:try-restart | *:*:reload | *:*:force-reload | *:*:status)
    if [ -x /usr/sbin/service ] && [ ! -e "$release/commands/$1" ] && [ ! -e "$release/commands/$1.ts" ]; then
      exec /usr/sbin/service "$@"
    fi
    ;;
esac

if [ "$(id -u)" -ne 0 ]; then
  echo "$name: run this command as root, for example with sudo: its settings in $config are readable for root only" >&2
  exit 4
fi
while IFS= read -r line; do
  case $line in
    '' | '#'*) ;;
    *=*) export "${line%%=*}=${line#*=}" ;;
  esac
done <"$config"
export HOME=@DATA_DIR@
umask 077
exec setpriv --reuid=service --regid=service --init-groups -- "$release/bin/service" "$@"
