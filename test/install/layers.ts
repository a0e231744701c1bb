import { debianLayer } from './clean-root.ts';

/** Make a layer that holds the files of Debian's PostgreSQL and Redis, so that apt installs them without a network. */
export function serverPackages(): Promise<string> {
  const install = 'apt-get install -y --download-only --no-install-recommends postgresql redis-server';
  return debianLayer('servers', `apt-get update && ${install}`);
}

/** Make layers in which systemd and nginx are installed. */
export async function systemdLayers(): Promise<string[]> {
  const below = [await serverPackages()];
  // No program is started while the layer is made.
  const script = `printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends systemd systemd-sysv nginx-light openssl &&
    systemctl disable nginx && rm /usr/sbin/policy-rc.d`;
  return [await debianLayer('systemd', script, below), ...below];
}
