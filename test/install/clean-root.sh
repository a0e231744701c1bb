#!/bin/sh
# First process of a clean Debian root, for tests: clean-root.sh ROOTS WORK SHARED UPPER INIT
# It runs in namespaces of its own (mounts, processes, perhaps network), which end with it. ROOTS are the folders of the
# root, the upmost first, separated by colons, which are not changed: what is written goes to UPPER, or else to memory.
# SHARED appears as /shared and cannot be written. No folder of the host is mounted writable. With INIT "systemd" the
# first process becomes systemd.
set -eu

roots=$1 work=$2 shared=$3 upper=$4 init=$5
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tmpfs "$work"
upper=${upper:-$work}
mkdir -p "$upper/upper" "$upper/overlay" "$work/root"
mount -t overlay overlay -o "lowerdir=$roots,upperdir=$upper/upper,workdir=$upper/overlay" "$work/root"
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
ln -s pts/ptmx dev/ptmx
mkdir -p dev/shm dev/pts shared
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=0755 tmpfs run
mkdir run/lock
mount --bind "$shared" shared
mount -o remount,bind,ro shared
for file in resolv.conf hosts; do
  if [ -r "/etc/$file" ]; then rm -f "etc/$file" && cp "/etc/$file" "etc/$file"; fi
done
if [ -n "${SSL_CERT_FILE:-}" ]; then cp "$SSL_CERT_FILE" certificates.pem; fi
ip link set lo up 2>/dev/null || true

if [ "$init" = systemd ]; then
  # The settings of the kernel are those of the host, so they are read-only. The group of processes is removed by the test.
  mount --bind proc/sys proc/sys
  mount -o remount,bind,ro proc/sys
  mount -t sysfs -o ro sysfs sys
  mkdir "$work/cgroup"
  mount -t cgroup2 cgroup2 "$work/cgroup"
  mkdir "$work/cgroup/${work##*/}"
  echo 0 >"$work/cgroup/${work##*/}/cgroup.procs"
fi
# systemd makes mount namespaces of its own, for which a changed root directory alone would not do.
pivot_root . mnt
cd /
umount -l /mnt
if [ "$init" = systemd ]; then
  exec unshare --cgroup --uts --ipc sh -c 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && echo ready && exec env -i \
    container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio,-syslog,-sys_boot \
    /lib/systemd/systemd </dev/null >/dev/null 2>&1'
fi
echo ready
# Reaps the daemons that lose their parent, until it is killed.
exec /bin/sh -c 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done'
