#!/usr/bin/env bash
# The first hour of somebody who has just found this project, as a script: clone, start, upload a folder, search, add a
# vendor, switch to it, edit metadata, sync a changed folder, make a key, look at usage, stop. Each step uses the README, or
# what the step before has printed. The vendor is a fake on this machine; nothing needs a network.
#
#   test/first-hour.sh              with the packages of this checkout
#   FIRST_HOUR_CLEAN=1 test/first-hour.sh   with an "npm ci" of its own
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
# As root, PostgreSQL runs as another user, which must be able to enter.
chmod 711 "$work"
export SERVICE_DATA_DIR="$work/data" SERVICE_PORT=0
unset SERVICE_CONFIG DATABASE_URL REDIS_URL S3_BUCKET
server=
vendor=

cleanup() {
  status=$?
  if [ -n "$server" ]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ -n "$vendor" ]; then kill "$vendor" 2>/dev/null || true; fi
  if [ "$status" -ne 0 ] && [ -f "$work/serve.out" ]; then tail -n 20 "$work/serve.out" "$work/serve.err" >&2; fi
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

step() { printf '\n== %s\n' "$*"; }
fail() {
  echo "first hour: $*" >&2
  exit 1
}
# Run a command, show what it prints, and keep it in $out.
run() {
  printf '$ %s\n' "$*"
  out=$("$@" 2>&1) || { printf '%s\n' "$out"; fail "\"$*\" failed"; }
  printf '%s\n' "$out"
}
expect() { case "$out" in *"$1"*) ;; *) fail "\"$1\" is not in the output" ;; esac; }
# Take the command that the last step printed after these words.
hint() {
  hinted=$(printf '%s\n' "$out" | sed -n "s#.*$1##p" | head -n 1)
  [ -n "$hinted" ] || fail "the step before printed no hint \"$1\""
}

start() {
  bin/service serve >"$work/serve.out" 2>"$work/serve.err" &
  server=$!
  for _ in $(seq 600); do
    grep -q '^curl ' "$work/serve.out" && return
    kill -0 "$server" 2>/dev/null || fail 'the server ended'
    sleep 0.2
  done
  fail 'the server did not start'
}
stop() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?"
  server=
}

step 'clone'
run git clone --quiet "$root" "$work/service"
cd "$work/service"
if [ -n "${FIRST_HOUR_CLEAN:-}" ]; then npm ci; else ln -s "$root/node_modules" node_modules; fi

step 'start, and send the first request that it prints'
start
cat "$work/serve.out"
out=$(sh -c "$(grep '^curl ' "$work/serve.out")")
expect '"object":"list"'

step 'upload a folder'
mkdir -p "$work/notes/birds"
printf '# Heron\n\nThe heron stands in the shallow water and waits for fish.\n' >"$work/notes/birds/heron.md"
printf '# Owl\n\nThe owl hunts at night and hears every mouse.\n' >"$work/notes/birds/owl.md"
printf '# Tractor\n\nThe tractor needs new oil every hundred hours.\n' >"$work/notes/tractor.md"
run bin/service documents upload "$work/notes" --recursive
expect '3 ready'
hint 'search them: bin/service '

step 'search, as the upload said'
run bin/service search 'who hunts at night?' --bucket default
case "$hinted" in "search "*" --bucket default") ;; *) fail "the hint was: $hinted" ;; esac
expect 'owl.md'

step 'add a vendor'
mkfifo "$work/vendor.in"
bin/../node_modules/.bin/node test/support/first-hour-vendor-child.ts <"$work/vendor.in" >"$work/vendor.out" &
vendor=$!
exec 9>"$work/vendor.in"
for _ in $(seq 300); do [ -s "$work/vendor.out" ] && break; sleep 0.1; done
# The calibration has tests of its own; here it would only take the vendor's time.
printf "projections: {auto: 'off'}\n" >"$SERVICE_DATA_DIR/service.yaml"
chmod o-rwx "$SERVICE_DATA_DIR/service.yaml"
VENDOR_KEY=first-hour-key
export VENDOR_KEY
run bin/service init --vendor vendor-a --protocol openai --url "$(cat "$work/vendor.out")" \
  --key-variable VENDOR_KEY --model text-embedding-3-small
run bin/service config check
expect 'vendor-a'
stop
start
run bin/service models test vendor-a/text-embedding-3-small
expect 'vendor-a/text-embedding-3-small'

step 'switch to it, and move the documents as the warning says'
run bin/service routing set vendor-a/text-embedding-3-small
hint 'run "bin/service '
# shellcheck disable=SC2086 # the hint is a command line
run bin/service ${hinted%%\"*} --yes
run bin/service search 'who hunts at night?' --json
expect '"model":"vendor-a/text-embedding-3-small"'

step 'edit metadata'
run bin/service metadata exec "UPDATE documents SET kind = 'bird' WHERE source_path LIKE 'birds/%'" --bucket default --yes
run bin/service metadata exec "SELECT documents WHERE kind = 'bird'" --bucket default --json
expect '"matched":2'

step 'change the folder and sync it'
printf '# Heron\n\nThe heron has moved to the lake.\n' >"$work/notes/birds/heron.md"
printf '# Plough\n\nThe plough follows the tractor.\n' >"$work/notes/plough.md"
rm "$work/notes/birds/owl.md"
run bin/service documents sync "$work/notes" --dry-run
expect '1 added, 1 replaced, 0 deleted, 1 unchanged, 0 failed'
expect 'add --delete'
run bin/service documents sync "$work/notes" --delete --yes
expect '1 added, 1 replaced, 1 deleted, 1 unchanged, 0 failed'
run bin/service search 'where is the heron?' --mode keyword
expect 'moved to the lake'
run bin/service documents show birds/heron.md --json
expect '"kind":"bird"'

step 'make a key and use it'
run bin/service keys create --name first-app --json
key=$(printf '%s\n' "$out" | sed -n 's/.*"key":"\([^"]*\)".*/\1/p')
address=$(sed -n 's/^listening on //p' "$work/serve.out")
out=$(curl -sS "$address/v2/search" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
  -d '{"query": "tractor oil", "buckets": ["default"], "group_by": "document"}')
expect 'tractor.md'

step 'look at usage'
run bin/service usage
expect ' tokens, '

step 'stop'
stop
echo
echo 'first hour: done'
