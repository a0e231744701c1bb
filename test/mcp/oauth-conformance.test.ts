import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { freePort } from '../support/free-port.ts';
import { consent, registerClient, TOOL_SERVER } from '../support/oauth.ts';
import { signIn } from '../support/sessions.ts';
import { CONFORMANCE } from './conformance-scenarios.ts';
import { REVISIONS } from './support.ts';

// Scenarios of the official conformance suite for authorization servers.

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { tool_server: { urls: [TOOL_SERVER] } } });
});
afterAll(() => test.close());

/** Run the suite. A person consents at the address that it prints. */
async function run(args: readonly string[], onAddress: (url: string) => Promise<void>): Promise<string> {
  const child = spawn(process.execPath, [CONFORMANCE, 'authorization', ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  let consenting: Promise<void> | null = null;
  const read = (chunk: Buffer) => {
    written += chunk;
    const [address] = /http\S+\/oauth\/authorize\?\S+\n/.exec(written) ?? [];
    if (address !== undefined) consenting ??= onAddress(address.trim());
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await once(child, 'close');
  await consenting;
  return written;
}

it.each(REVISIONS)(
  'the service passes every scenario in revision %s',
  async (revision) => {
    const session = await signIn(test, { credential: await test.key({ scopes: ['search'] }) });
    const port = await freePort();
    const clientId = await registerClient(test, { redirect_uris: [`http://127.0.0.1:${port}/callback`] });
    const args = ['--url', test.api.url, '--client-id', clientId, '--resource', TOOL_SERVER, '-p', String(port)];
    const written = await run([...args, '--spec-version', revision, '--verbose'], async (address) => {
      const { body } = await consent(test, session, new URL(address).search.slice(1));
      await (await fetch(body.return_to)).text();
    });
    expect(written).toMatch(/^Total: 3 passed, 0 failed$/m);
  },
  60_000,
);
