#!/bin/sh
# First process of a clean Debian root, for tests: clean-root.sh ROOT WORK SHARED
# It runs in namespaces of its own (mounts, processes, perhaps network), which end with it. ROOT is not changed: what is
# written goes to WORK. SHARED appears as /shared and cannot be written. No folder of the host is mounted writable.
set -eu

root=$1 work=$2 shared=$3
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tmpfs "$work"
mkdir "$work/upper" "$work/overlay" "$work/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/overlay" "$work/root"
cd "$work/root"
mount -t proc proc proc
mount -t tmpfs -o mode=0755 tmpfs dev
for node in null:3 zero:5 full:7 random:8 urandom:9; do
  mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"
done
mknod -m 666 dev/tty c 5 0
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mkdir dev/shm shared
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=0755 tmpfs run
mkdir run/lock
mount --bind "$shared" shared
mount -o remount,bind,ro shared
for file in resolv.conf hosts; do
  if [ -r "/etc/$file" ]; then cp "/etc/$file" "etc/$file"; fi
done
if [ -n "${SSL_CERT_FILE:-}" ]; then cp "$SSL_CERT_FILE" certificates.pem; fi
ip link set lo up 2>/dev/null || true
echo ready
# Reaps the daemons that lose their parent, until it is killed.
exec chroot . /bin/sh -c 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done'
