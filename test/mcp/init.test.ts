import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'jsonc-parser';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { runToolServerCommand } from '../../src/mcp/command-line.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'init-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

/** Run the command line in this process. */
async function init(args: string[], env: Record<string, string> = {}, folder = home) {
  const written = { stdout: '', stderr: '' };
  const status = await runToolServerCommand(['init', ...args], '/opt/service/bin/service-mcp', {
    ...{ env: { HOME: home, ...env }, platform: 'linux', folder },
    print: (text) => {
      written.stdout += text;
    },
    note: (...lines) => {
      written.stderr += lines.join('\n');
    },
  });
  return { status, ...written };
}
const cursorFile = () => path.join(home, '.cursor', 'mcp.json');

function writeCursor(text: string): string {
  mkdirSync(path.dirname(cursorFile()), { recursive: true });
  writeFileSync(cursorFile(), text);
  return cursorFile();
}

describe('init prints what the client reads', () => {
  it('claude: a server that is started over stdio', async () => {
    const { status, stdout, stderr } = await init(['--client', 'claude', '--bucket', 'docs'], {
      SERVICE_API_KEY: 'svc_canary',
    });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      mcpServers: {
        service: {
          command: expect.stringMatching(/bin\/service-mcp$/),
          args: [],
          env: {
            SERVICE_API_BASE_URL: 'http://127.0.0.1:8080',
            SERVICE_API_KEY: '<API_KEY>',
            SERVICE_DEFAULT_BUCKET: 'docs',
          },
        },
      },
    });
    expect(stderr).toContain('claude_desktop_config.json');
    expect(stdout + stderr).not.toContain('canary');
  });

  it('claude, cursor and remote with an address: a server over HTTP', async () => {
    const url = 'https://mcp.example.com/mcp';
    const read = async (client: string) =>
      JSON.parse(
        (await init(['--client', client, '--bucket', 'docs', '--server-url', 'https://mcp.example.com'])).stdout,
      ).mcpServers.service;
    expect(await read('claude')).toEqual({
      type: 'http',
      url,
      headers: { Authorization: `Bearer \${SERVICE_MCP_BEARER_TOKEN}` },
    });
    expect(await read('cursor')).toEqual({
      url,
      headers: { Authorization: `Bearer \${env:SERVICE_MCP_BEARER_TOKEN}` },
    });
    expect(await read('remote')).toEqual({ type: 'http', url, headers: { Authorization: 'Bearer <BEARER_TOKEN>' } });
  });

  it('chatgpt: the entry of the Responses API, and the steps for the connector', async () => {
    const args = ['--client', 'chatgpt', '--bucket', 'docs', '--server-url', 'https://mcp.example.com/mcp'];
    const { stdout, stderr } = await init(args);
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'mcp',
      server_url: 'https://mcp.example.com/mcp',
      allowed_tools: ['search', 'fetch'],
    });
    expect(stderr).toContain('--sign-in');
  });

  it('with --sign-in no client needs a token, and the notes say where its person signs in', async () => {
    const url = 'https://mcp.example.com/mcp';
    const read = async (client: string, env: Record<string, string> = {}) => {
      const flags = env['SERVICE_MCP_AUTH_MODE'] === undefined ? ['--sign-in'] : [];
      const { stdout, stderr } = await init(['--client', client, '--server-url', url, ...flags], env);
      return { document: JSON.parse(stdout), stderr };
    };
    for (const [client, section, entry, step] of [
      ['claude', 'mcpServers', { type: 'http', url }, 'Add custom connector'],
      ['cursor', 'mcpServers', { url }, 'Connect'],
      ['vscode', 'servers', { type: 'http', url }, 'sign in'],
      ['remote', 'mcpServers', { type: 'http', url }, 'browser'],
    ] as const) {
      const { document, stderr } = await read(client);
      expect([client, document]).toEqual([client, { [section]: { service: entry } }]);
      expect(stderr).toContain(step);
    }
    expect((await read('remote', { SERVICE_MCP_AUTH_MODE: 'oauth' })).document.mcpServers.service).toEqual({
      type: 'http',
      url,
    });
    expect((await read('chatgpt')).stderr).toContain('authentication OAuth');
    const without = await init(['--client', 'chatgpt', '--server-url', url]);
    expect(without.stderr).toContain('SERVICE_MCP_AUTH_MODE=oauth');
  });

  it('vscode: its own form, which asks for the secret', async () => {
    const { stdout } = await init(['--client', 'vscode', '--server-url', 'https://mcp.example.com/mcp']);
    expect(JSON.parse(stdout)).toEqual({
      servers: {
        service: {
          type: 'http',
          url: 'https://mcp.example.com/mcp',
          headers: { Authorization: `Bearer \${input:service-secret}` },
        },
      },
      inputs: [{ type: 'promptString', id: 'service-secret', description: 'token of the tool server', password: true }],
    });
  });

  it('refuses what cannot work, with the next step', async () => {
    for (const [args, wanted] of [
      [[], /--client is missing: one of claude, cursor, vscode, remote, chatgpt/],
      [['--client', 'claud'], /did you mean claude\?/],
      [['--client', 'chatgpt', '--server-url', 'http://x'], /give the https address/],
      [['--client', 'remote', '--server-url', 'nowhere'], /is not an http or https address/],
      [['--client', 'remote', '--server-url', 'https://a:b@x'], /must not have credentials/],
      [['--client', 'remote', '--write'], /say with --config/],
      [['--client', 'chatgpt', '--server-url', 'https://x', '--write'], /reads no file/],
      [['--client', 'cursor', '--name', 'a b'], /--name/],
    ] as const) {
      const { status, stdout, stderr } = await init([...args]);
      expect([args, status, stdout]).toEqual([args, 2, '']);
      expect(stderr).toMatch(wanted);
    }
  });
});

describe('init --write', () => {
  it('makes the file where there is none, for its owner alone, with the key of the environment', async () => {
    const file = path.join(home, '.config', 'Claude', 'claude_desktop_config.json');
    const { status, stdout, stderr } = await init(['--client', 'claude', '--write'], { SERVICE_API_KEY: 'svc_canary' });
    expect([status, stdout]).toEqual([0, '']);
    expect(stderr).not.toContain('canary');
    expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers.service.env.SERVICE_API_KEY).toBe('svc_canary');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('loses nothing of a file with other servers, comments, tabs, trailing commas and odd line ends', async () => {
    const text = [
      '\ufeff// my servers',
      '{',
      '\t"theme": "dark", // keep',
      '\t"mcpServers": {',
      '\t\t/* the other one */',
      '\t\t"other": { "command": "npx", "args": ["-y", "x"], "env": { "KEY": "o1" }, },',
      '\t},',
      '\t"last": [1, 2, 3],',
      '}',
      '',
    ].join('\r\n');
    const file = writeCursor(text);
    chmodSync(file, 0o644);
    expect((await init(['--client', 'cursor', '--bucket', 'docs', '--write'])).status).toBe(0);
    const after = readFileSync(file, 'utf8');
    for (const line of text.split('\r\n')) expect(after).toContain(line);
    expect(after.startsWith('\ufeff// my servers\r\n')).toBe(true);
    expect(after.replaceAll('\r\n', '')).not.toContain('\n');
    const tree = parse(after.slice(1), [], { allowTrailingComma: true });
    expect(tree).toMatchObject({ theme: 'dark', last: [1, 2, 3], mcpServers: { other: { command: 'npx' } } });
    expect(tree.mcpServers.service.env.SERVICE_DEFAULT_BUCKET).toBe('docs');
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  it('updates its own entry, keeping what a person added, and does nothing the second time', async () => {
    const file = writeCursor(
      '{"mcpServers": {"service": {"command": "old", "disabled": false, /* mine */ "env": {"EXTRA": "1", "SERVICE_DEFAULT_BUCKET": "a"}}}}',
    );
    await init(['--client', 'cursor', '--bucket', 'b', '--write']);
    const once = readFileSync(file, 'utf8');
    expect(once).toContain('/* mine */');
    expect(parse(once).mcpServers.service).toMatchObject({
      disabled: false,
      env: { EXTRA: '1', SERVICE_DEFAULT_BUCKET: 'b' },
    });
    const again = await init(['--client', 'cursor', '--bucket', 'b', '--write']);
    expect(again.stderr).toContain('nothing was changed');
    expect(readFileSync(file, 'utf8')).toBe(once);
    await init(['--client', 'cursor', '--bucket', 'b', '--server-url', 'https://x.example', '--write']);
    const remote = parse(readFileSync(file, 'utf8')).mcpServers.service;
    expect(Object.keys(remote).sort()).toEqual(['disabled', 'headers', 'url']);
  });

  it('keeps the key that stands in the file when the environment has none', async () => {
    const file = path.join(home, 'claude.json');
    const args = ['--client', 'claude', '--config', file, '--write'];
    await init(args, { SERVICE_API_KEY: 'svc_first' });
    await init([...args, '--bucket', 'other']);
    expect(parse(readFileSync(file, 'utf8')).mcpServers.service.env).toMatchObject({
      SERVICE_API_KEY: 'svc_first',
      SERVICE_DEFAULT_BUCKET: 'other',
    });
  });

  it('refuses broken files and leaves them as they are', async () => {
    for (const [text, wanted] of [
      ['{"mcpServers": {"other": {"command": "x"}', /line 1, column \d+/],
      ['{\n  "a": 1\n  "b": 2\n}', /line 3, column \d+/],
      ['[]', /it is not an object/],
      ['"text"', /it is not an object/],
      ['{"mcpServers": []}', /"mcpServers" is not an object/],
      ['{"mcpServers": {"service": "x"}}', /"mcpServers.service" is not an object/],
      ['{"mcpServers": {}, "mcpServers": {"a": {}}}', /has the key "mcpServers" twice/],
    ] as const) {
      const file = writeCursor(text);
      const { status, stderr } = await init(['--client', 'cursor', '--write']);
      expect([text, status]).toEqual([text, 4]);
      expect(stderr).toMatch(wanted);
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
    const file = writeCursor('');
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));
    expect((await init(['--client', 'cursor', '--write'])).stderr).toContain('is not UTF-8 text');
    expect(readFileSync(file)).toEqual(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));
  });

  it('fills an empty file, writes through a link, and leaves no draft', async () => {
    const real = path.join(home, 'dotfiles.json');
    writeFileSync(real, '');
    mkdirSync(path.dirname(cursorFile()), { recursive: true });
    symlinkSync(real, cursorFile());
    expect((await init(['--client', 'cursor', '--write'])).status).toBe(0);
    expect(Object.keys(JSON.parse(readFileSync(real, 'utf8')).mcpServers)).toEqual(['service']);
    expect((await init(['--client', 'cursor', '--config', home, '--write'])).status).toBe(4);
  });

  it('--dry-run writes nothing and says what would change', async () => {
    const file = writeCursor('{"mcpServers": {}}');
    const { status, stdout, stderr } = await init(['--client', 'cursor', '--write', '--dry-run']);
    expect([status, readFileSync(file, 'utf8')]).toEqual([0, '{"mcpServers": {}}']);
    expect(stderr).toContain(`Would change ${file}`);
    expect(Object.keys(JSON.parse(stdout).mcpServers)).toEqual(['service']);
  });
});
