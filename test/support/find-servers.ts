import { spawnSync } from 'node:child_process';

/** Servers that this machine can start besides PostgreSQL, which the project includes. */
export interface TestServers {
  readonly redis: boolean;
  /** MiniStack (`pip install ministack`): it honours conditional writes and checks checksums. */
  readonly s3: boolean;
  /** PgBouncer (Debian package `pgbouncer`). */
  readonly pgbouncer: boolean;
  /** Dovecot (Debian package `dovecot-imapd`). */
  readonly dovecot: boolean;
  /** WsgiDAV (`pip install wsgidav cheroot`): a WebDAV server that keeps files in a folder. */
  readonly wsgidav: boolean;
  /** Pebble (Debian package `pebble`): an ACME server. */
  readonly pebble: boolean;
  /** HAProxy (Debian package `haproxy`). */
  readonly haproxy: boolean;
  /** Milvus Lite (`pip install milvus-lite pymilvus`), which speaks the protocol of Milvus. */
  readonly milvus: boolean;
}

export function findServers(): TestServers {
  const starts = (command: string, option: string) => spawnSync(command, [option], { stdio: 'ignore' }).status === 0;
  return {
    redis: starts('redis-server', '--version'),
    s3: starts('ministack', '--help'),
    pgbouncer: starts('pgbouncer', '--version'),
    dovecot: starts('dovecot', '--version'),
    wsgidav: starts('wsgidav', '--version'),
    // Pebble has no option that prints something and exits successfully.
    pebble: spawnSync('pebble', ['-help'], { stdio: 'ignore' }).error === undefined,
    haproxy: starts('haproxy', '-v'),
    milvus: starts('milvus-lite', '--help'),
  };
}
