import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { ImapFlow } from 'imapflow';
import { inject } from 'vitest';
import { TEST_CA, TEST_KEY } from './certificates.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export const MAIL_USER = 'keeper';
export const MAIL_PASSWORD = 'guillemot and samphire';
/** System user that owns the mail if the tests run as root, since Dovecot refuses root. */
const NOBODY = 65_534;

export interface TestDovecot {
  /** Port without encryption, which also offers STARTTLS. */
  readonly port: number;
  readonly tlsPort: number;
  /** Open a client that may write. The test logs it out. */
  openClient(): Promise<ImapFlow>;
  /** Stop the server, and keep its mail. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stop the server, and remove its mail. */
  drop(): Promise<void>;
}

/** Return true if this machine has Dovecot. Without it, tests that need an IMAP server are skipped. */
export function dovecotAvailable(): boolean {
  return inject('servers').dovecot;
}

/**
 * Start Dovecot with one user and an empty mailbox, on free ports of the loopback address.
 *
 * @param tokenInfoUrl address that returns the owner of an access token; without it, only the password is valid
 */
export async function startDovecot(options: { readonly tokenInfoUrl?: string } = {}): Promise<TestDovecot> {
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-mail-'));
  await chmod(directory, 0o755);
  await mkdir(path.join(directory, 'mail'));
  await chmod(path.join(directory, 'mail'), 0o777);
  const [port, tlsPort] = [await freePort(), await freePort()];
  await writeFile(path.join(directory, 'users'), `${MAIL_USER}:{PLAIN}${MAIL_PASSWORD}\n`, { mode: 0o644 });
  await writeFile(path.join(directory, 'oauth2.conf'), oauthConfig(options.tokenInfoUrl ?? ''), { mode: 0o644 });
  const config = path.join(directory, 'dovecot.conf');
  await writeFile(config, serverConfig({ directory, port, tlsPort, hasTokens: options.tokenInfoUrl !== undefined }));
  let child = await startChild(config, port, directory);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  return {
    port,
    tlsPort,
    async openClient() {
      const auth = { user: MAIL_USER, pass: MAIL_PASSWORD };
      const client = new ImapFlow({
        ...{ host: '127.0.0.1', port, secure: false, auth },
        doSTARTTLS: false,
        logger: false,
      });
      client.on('error', () => {});
      await client.connect();
      return client;
    },
    stop,
    async start() {
      child = await startChild(config, port, directory);
    },
    async drop() {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function startChild(config: string, port: number, directory: string) {
  const child = spawn('dovecot', ['-F', '-c', config], { stdio: 'ignore' });
  const answers = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket
        .once('data', () => resolve(true))
        .once('error', () => resolve(false))
        .once('close', () => resolve(false));
      socket.once('data', () => socket.destroy());
    });
  await until(
    async () => {
      if (child.exitCode !== null) {
        const log = await readFile(path.join(directory, 'log'), 'utf8').catch(() => '');
        throw new Error(`dovecot ended with ${child.exitCode}: ${log}`);
      }
      return answers();
    },
    { what: 'dovecot' },
  );
  return child;
}

interface ServerPlace {
  readonly directory: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly hasTokens: boolean;
}

/** Write the settings of Dovecot 2.3 (doc.dovecot.org/2.3). */
function serverConfig({ directory, port, tlsPort, hasTokens }: ServerPlace): string {
  const { uid, gid, username } = userInfo();
  const own = uid === 0 ? '' : `default_login_user = ${username}\ndefault_internal_user = ${username}\n`;
  const [mailUid, mailGid] = uid === 0 ? [NOBODY, NOBODY] : [uid, gid];
  const tokens = `passdb {
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = ${directory}/oauth2.conf
}`;
  return `${own}base_dir = ${directory}/run
state_dir = ${directory}/state
log_path = ${directory}/log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <${TEST_CA}
ssl_key = <${TEST_KEY}
disable_plaintext_auth = no
auth_mechanisms = plain login${hasTokens ? ' xoauth2 oauthbearer' : ''}
auth_failure_delay = 0 s
first_valid_uid = 1
mail_location = maildir:${directory}/mail/%u:LAYOUT=fs
mail_fsync = never
${hasTokens ? tokens : ''}
passdb {
  driver = passwd-file
  args = ${directory}/users
}
userdb {
  driver = static
  args = uid=${mailUid} gid=${mailGid} home=${directory}/mail/%u
}
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service imap-login {
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = ${tlsPort}
    ssl = yes
  }
}
`;
}

function oauthConfig(tokenInfoUrl: string): string {
  return `tokeninfo_url = ${tokenInfoUrl}\nusername_attribute = user\nactive_attribute = active\nactive_value = true\n`;
}
