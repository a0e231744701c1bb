import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { addLaterReleases, makeReleases } from './bundles.ts';
import { startCleanRoot } from './clean-root.ts';
import { Host, install } from './installer.ts';
import { systemdLayers } from './layers.ts';
import { givenBundle, skipReason } from './requested.ts';

const MINUTES = 60_000;
/** Exposure that `systemd-analyze security` may find, from 0 to 10. It calls less than 5 "OK". */
const EXPOSURE_MAX = 2.5;
const UNITS = 'service-api service-worker-ingest@1 service-worker-embed@1 service-reaper'.split(' ');
const docs = readFileSync(fileURLToPath(new URL('../../docs/operations.md', import.meta.url)), 'utf8');

/** Read an example of the page about operations. */
function example(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(docs)?.[1];
  if (found === undefined) throw new Error(`docs/operations.md has no example in ${language}`);
  return found;
}

describe.skipIf(skipReason !== null)('install.sh in a clean Debian that systemd runs', () => {
  let shared: string;
  let layers: string[];
  let host: Host;

  beforeAll(async () => {
    shared = makeReleases(givenBundle);
    writeFileSync(path.join(shared, 'nginx.conf'), example('nginx'));
    writeFileSync(path.join(shared, 'example.service'), example('ini'));
    layers = await systemdLayers();
  }, 30 * MINUTES);

  afterAll(() => rmSync(shared, { recursive: true, force: true }));

  afterEach(() => host.root.stop());

  const start = async () => {
    host = new Host(await startCleanRoot({ shared, network: false, layers, systemd: true }));
    const state = () => host.run('systemctl is-system-running');
    await until(async () => /^(running|degraded)$/m.test((await state()).stdout), { withinMs: 2 * MINUTES });
  };

  test(
    'the units start, are restarted, upgraded and removed by systemd, and readers of documents are confined in them',
    async () => {
      addLaterReleases(shared);
      await start();
      expect(await host.succeed(install('first'))).toContain('The service is ready: http://127.0.0.1:8080');
      await host.succeed('systemctl is-active service-api.socket service-api.service');
      await host.succeed('service embed hello');
      expect(await host.succeed(install('first'))).toMatch(/nothing to do\.\n$/);

      await host.succeed('systemctl kill --signal=SIGKILL --kill-whom=main service-api');
      await until(async () => (await host.run('service embed hello')).status === 0, { withinMs: 2 * MINUTES });
      expect(Number(await host.succeed('systemctl show --property=NRestarts --value service-api'))).toBeGreaterThan(0);

      // The unit itself, but with a command that tells what a process in it can do.
      const diagnose = `sed 's|^ExecStart=.*|ExecStart=/opt/service/current/bin/service doctor|; s|^Restart=.*|Type=oneshot|; /^Requires=/d' \
        /etc/systemd/system/service-api.service >/run/systemd/system/diagnose.service && systemctl daemon-reload`;
      await host.succeed(diagnose);
      await host.run('systemctl start diagnose');
      expect(await host.succeed('journalctl -u diagnose --no-pager -o cat')).toContain(
        'document readers: isolated from the network and from other files',
      );

      await host.underLoad(async () => {
        expect(await host.succeedAsPrinted(install('second', '--upgrade'))).toContain('0.1.1-second is installed');
        const broken = await host.run(install('broken', '--upgrade'));
        expect(broken).toMatchObject({
          ...{ status: 1, stderr: expect.stringContaining('is in use again; nothing is lost') },
        });
      });
      await host.succeed('service embed hello');

      await host.succeed(
        'rm /run/systemd/system/diagnose.service; sh /opt/service/current/install.sh --uninstall --purge',
      );
      await host.expectRemoved(); // systemd itself has written files meanwhile
    },
    20 * MINUTES,
  );

  test(
    'with PostgreSQL and Redis of Debian every kind of work has a unit, which is verified and little exposed',
    async () => {
      await start();
      const flags = '--with-postgres --with-redis';
      expect(await host.succeed(install('first', flags))).toContain('The service is ready');
      expect(await host.succeed(`systemctl is-active ${UNITS.join(' ')}`)).toBe('active\n'.repeat(UNITS.length));
      await host.succeed('echo "The bearing turns." >/tmp/note.txt && service documents upload /tmp/note.txt');
      const files =
        'service-api.socket service-api.service service-worker-ingest@1.service service-worker-embed@1.service service-reaper.service';
      const verified = await host.run(`cd /etc/systemd/system && systemd-analyze verify --man=no ${files}`);
      expect(verified).toEqual({ status: 0, stdout: '', stderr: '' });
      for (const unit of UNITS) {
        const report = await host.succeed(`systemd-analyze security --no-pager ${unit}`);
        const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
        expect(exposure, report).toBeLessThanOrEqual(EXPOSURE_MAX);
        process.stderr.write(`systemd-analyze security ${unit}: ${exposure}\n`);
      }
      // After a reboot everything is started again; the socket holds the port before.
      await host.succeed(`systemctl is-enabled service-api.socket ${UNITS.join(' ')}`);
    },
    20 * MINUTES,
  );

  test(
    'the examples of a proxy and of a unit in the documentation work as they are',
    async () => {
      await start();
      await host.succeed(install('first'));
      await host.succeed(
        `openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=embed.example.com -keyout /etc/ssl/embed.key -out /etc/ssl/embed.pem 2>/dev/null
         cp /shared/nginx.conf /etc/nginx/conf.d/service.conf`,
      );
      const tested = await host.run('nginx -t');
      expect(tested).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(/syntax is ok[\s\S]*test is successful/),
      });
      expect(tested.stderr).not.toMatch(/warn/);
      await host.succeed('systemctl start nginx');
      const ask = `NODE_TLS_REJECT_UNAUTHORIZED=0 NODE_NO_WARNINGS=1 /opt/service/current/node_modules/.bin/node -e \
        'fetch("https://127.0.0.1/readyz").then((reply) => console.log(reply.status))'`;
      expect(await host.succeed(ask)).toBe('200\n');

      await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
      await host.succeed(install('first', '--no-start'));
      await host.succeed(
        `sed 's|/opt/service/bin|/opt/service/current/bin|' /shared/example.service >/etc/systemd/system/service.service
         systemctl daemon-reload`,
      );
      const verified = await host.run('systemd-analyze verify --man=no /etc/systemd/system/service.service');
      expect(verified).toEqual({ status: 0, stdout: '', stderr: '' });
      await host.succeed('systemctl start service.service');
      await until(async () => (await host.run(ask)).stdout === '200\n', { withinMs: 2 * MINUTES });
    },
    20 * MINUTES,
  );
});
