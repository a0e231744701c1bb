import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const isDebian = process.platform === 'linux' && spawnSync('sh', ['-c', 'command -v apt-get']).status === 0;
/** The steps differ on a host where the service is installed. */
const isInstalled = existsSync('/etc/service');
const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0;
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'install-flags-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Run install.sh in a way that changes nothing on this host, even if a wrong flag is taken for a right one. */
function install(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('sh', [path.join(ROOT, 'install.sh'), '--print', ...args], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

test.each<[string[], RegExp]>([
  [['--prot', '80'], /there is no flag --prot/],
  [['now'], /takes no argument without a flag, but got "now"/],
  [['-p', '8080'], /there is no flag -p;/],
  [['--'], /there is no flag --;/],
  [[''], /takes no argument without a flag, but got ""/],
  [['--embedded=yes'], /--embedded takes no value/],
  [['--with-postgres=15'], /--with-postgres takes no value/],
  [['--with-redis=7'], /--with-redis takes no value/],
  [['--no-start=no'], /--no-start takes no value/],
  [['--upgrade=0.1.1'], /--upgrade takes no value/],
  [['--uninstall=all'], /--uninstall takes no value/],
  [['--prefix'], /--prefix needs a value/],
  [['--data-dir='], /--data-dir needs a value/],
  [['--bundle', '--print'], /--bundle needs a value/],
  [['--database-url', ''], /--database-url needs a value/],
  [['--redis-url='], /--redis-url needs a value/],
  [['--print=no'], /--print takes no value/],
  [['--uninstall', '--purge=yes'], /--purge takes no value/],
  [['--port', '8080', '--port=9090'], /--port is given twice with different values/],
  [['--prefix', '/opt/a', '--prefix', '/opt/b'], /--prefix is given twice/],
  [['--data-dir', '/srv/a', '--data-dir', '/srv/b'], /--data-dir is given twice/],
  [['--bundle', '/srv/a', '--bundle', '/srv/b'], /--bundle is given twice/],
  [
    ['--database-url', 'postgres://u:geheim@h/d', '--database-url', 'postgres://u:geheim@i/d'],
    /--database-url is given twice/,
  ],
  [
    ['--database-url', 'postgres://h/d', '--redis-url', 'redis://h', '--redis-url', 'redis://i'],
    /--redis-url is given twice/,
  ],
  [['--port'], /--port needs a value/],
  [['--port', '--embedded'], /--port needs a value/],
  [['--port='], /--port needs a value/],
  [['--port', '80'], /--port must be a number from 1024 to 65535, but is "80"/],
  [['--port', '08080'], /--port must be a number/],
  [['--port', '65536'], /--port must be a number/],
  [['--port', '99999999999999999999'], /--port must be a number/],
  [['--port', '8080;reboot'], /--port must be a number/],
  [['--prefix', 'opt'], /--prefix must be an absolute path/],
  [['--prefix', '/opt'], /\/opt belongs to the system; choose another, such as \/opt\/service/],
  [['--data-dir', '/'], /--data-dir may contain/],
  [['--data-dir', '/srv/$(reboot)'], /--data-dir may contain letters/],
  [['--data-dir', '/srv/a b'], /--data-dir may contain letters/],
  [['--data-dir', '/srv/a\n/srv/b'], /--data-dir must not contain a line break/],
  [['--data-dir', '/srv/../etc'], /--data-dir must not contain "\." or "\.\."/],
  [['--data-dir', '/etc/service'], /belongs to the system/],
  [['--embedded', '--with-postgres'], /--embedded and --with-postgres exclude each other/],
  [['--with-postgres', '--database-url', 'postgres://h/d'], /--with-postgres and --database-url exclude each other/],
  [['--with-postgres', '--with-redis', '--redis-url', 'redis://h'], /--with-redis and --redis-url exclude each other/],
  [['--embedded', '--with-redis'], /--embedded and --with-redis exclude each other/],
  [['--redis-url', 'redis://h'], /--redis-url needs --with-postgres or --database-url/],
  [['--database-url', 'mysql://root:geheim@h/d'], /--database-url must begin with postgres:\/\//],
  [['--database-url', "postgres://u:geheim'@h/d"], /--database-url must begin with postgres:\/\/, without spaces/],
  [['--database-url', 'postgres://u:geheim@h/d\nX=1'], /--database-url must not contain a line break/],
  [['--with-postgres', '--redis-url', 'http://u:geheim@h'], /--redis-url must begin with redis:\/\//],
  [['--upgrade', '--uninstall'], /--upgrade and --uninstall exclude each other/],
  [['--upgrade', '--port', '9000'], /--upgrade keeps the settings/],
  [['--uninstall', '--data-dir', '/srv/x'], /--uninstall keeps the settings/],
  [['--upgrade', '--no-start'], /--no-start goes with an installation only/],
  [['--upgrade', '--embedded'], /--upgrade keeps the settings/],
  [['--upgrade', '--with-postgres', '--with-redis'], /--upgrade keeps the settings/],
  [['--uninstall', '--redis-url', 'redis://h'], /--uninstall keeps the settings/],
  [['--uninstall', '--no-start'], /--no-start goes with an installation only/],
  [['--upgrade', '--purge'], /--purge goes with --uninstall only/],
  [['--with-redis'], /--with-redis needs --with-postgres or --database-url/],
  [['--embedded', '--database-url', 'postgres://h/d'], /--embedded and --database-url exclude each other/],
  [['--purge'], /--purge goes with --uninstall only/],
])('install.sh %j is refused with one line', (args, message) => {
  const { status, stdout, stderr } = install(...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^install\.sh: [^\n]+\n$/);
  expect(stderr).not.toContain('geheim');
});

test('install.sh --help tells every flag that the script reads', () => {
  const { status, stdout } = install('--help');
  expect(status).toBe(0);
  const flags = readFileSync(path.join(ROOT, 'src/install/parts/flags.sh'), 'utf8').match(/^ {6}--?[^\n)]*\)/gm) ?? [];
  const names = new Set(flags.join(' ').match(/--[a-z-]+/g));
  expect(names.size).toBeGreaterThan(10);
  for (const name of names) expect(stdout).toContain(name);
});

test.runIf(isDebian && !isInstalled)('install.sh --print tells every step, and changes nothing', async () => {
  const port = String(await freePort());
  const { status, stdout } = install('--data-dir', '/srv/print-only', '--prefix', '/opt/print-only', '--port', port);
  expect(status).toBe(0);
  for (const step of [
    'npm-cli.js ci',
    'useradd',
    '/srv/print-only',
    'service.env (mode 600)',
    'db migrate',
    '/readyz',
  ]) {
    expect(stdout).toContain(step);
  }
  expect(globSync('{/srv,/opt}/print-only')).toEqual([]);
});

test.runIf(isDebian)('a file that is no bundle is refused with one line', () => {
  const bundle = path.join(folder, 'bundle.tgz');
  writeFileSync(bundle, 'not a bundle');
  expect(install('--bundle', bundle)).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^install\.sh: --bundle: \S+ is no bundle, or is damaged[^\n]*\n$/),
  });
  expect(install('--bundle', path.join(folder, 'missing.tgz')).stderr).toMatch(/cannot be read\n$/);
});

test('install.sh without a checkout and without a bundle is refused with one line', () => {
  const alone = path.join(folder, 'install.sh');
  writeFileSync(alone, readFileSync(path.join(ROOT, 'install.sh')));
  const options = { encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync('sh', [alone], options);
  expect(status).toBe(2);
  expect(stderr).toBe('install.sh: install.sh needs the checkout that it belongs to, or --bundle FILE\n');
  const wrong = spawnSync('sh', [alone, '--bundel', '/srv/a.tgz', '--database-url=postgres://u:geheim@h/d'], options);
  expect(wrong.stderr).toMatch(/or --bundle FILE, .*; the flags were: --bundel --database-url\n$/);
});

test.runIf(hasShellcheck)('shellcheck finds nothing in the shell scripts', () => {
  const scripts = globSync(
    ['install.sh', 'bin/service', 'bin/service-mcp', 'src/install/**/*.sh', 'test/install/*.sh'],
    { cwd: ROOT },
  );
  expect(scripts.length).toBeGreaterThan(10);
  // The wrappers leave a list of flags unquoted on purpose.
  const { stdout } = spawnSync('shellcheck', ['--exclude=SC2086', ...scripts], { cwd: ROOT, encoding: 'utf8' });
  expect(stdout).toBe('');
});

test('every unit restarts its program, limits its memory and keeps it from the rest of the host', () => {
  const files = globSync('src/install/files/*.service', { cwd: ROOT });
  expect(files).toHaveLength(4);
  for (const file of files) {
    const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n');
    expect(lines, file).toEqual(
      expect.arrayContaining([
        ...['User=service', 'UMask=0077', 'Restart=always', 'MemoryMax=@MEMORY@'],
        ...['NoNewPrivileges=true', 'ProtectSystem=strict', 'ReadWritePaths=@DATA_DIR@', 'CapabilityBoundingSet='],
      ]),
    );
  }
});

test.runIf(hasSystemd)('systemd accepts the units', () => {
  const values = { PREFIX: folder, DATA_DIR: folder, MEMORY: '50%', SERVE: 'serve', LISTEN: '127.0.0.1:8080' };
  const files = globSync('src/install/files/*.{service,socket}', { cwd: ROOT });
  const units = files.map((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8')
      .replace(/@([A-Z_]+)@/g, (_, name) => values[name as keyof typeof values])
      .replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true')
      .replace(/^(User|Group)=.*$/gm, '$1=root');
    const unit = path.join(folder, path.basename(file).replace('@.', '@1.'));
    writeFileSync(unit, text);
    return unit;
  });
  expect(units).toHaveLength(5);
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], { encoding: 'utf8' });
  expect(stderr.split('\n').filter((line) => line.includes(folder))).toEqual([]);
  expect(status).toBe(0);
});
