import { expect, it, onTestFinished } from 'vitest';
import type { SourceReader } from '../../../src/memory/readers/source-reader.ts';
import type { ImapSettings } from '../../../src/platform/imap-settings.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { MAIL_PASSWORD } from '../../support/dovecot.ts';
import { type ImapScript, startFakeImap } from '../../support/fake-imap.ts';
import { listAll, NEVER, openMail } from './open-mail.ts';

const CAPABILITY = '* CAPABILITY IMAP4rev1';
const LISTED = '* LIST (\\HasNoChildren) "/" INBOX';

/** Open a reader of a server that answers by a script. */
async function openScripted(script: ImapScript, settings: Partial<ImapSettings> = {}): Promise<SourceReader> {
  const server = await startFakeImap((command) => {
    const own = script(command);
    if (own !== null) return own;
    if (command === 'CAPABILITY') return [CAPABILITY, 'TAG OK done'];
    if (command.startsWith('LIST')) return [LISTED, 'TAG OK done'];
    if (command.startsWith('EXAMINE')) return ['* 3 EXISTS', '* OK [UIDVALIDITY 7] ok', 'TAG OK [READ-ONLY] done'];
    return null;
  });
  const reader = openMail({ host: '127.0.0.1', port: server.port, security: 'none', ...settings });
  onTestFinished(async () => {
    await reader.close();
    await server.close();
  });
  return reader;
}

/** List the INBOX of a server that answers by a script, and return the fault. */
async function faultOf(script: ImapScript, settings: Partial<ImapSettings> = {}): Promise<unknown> {
  return listAll(await openScripted(script, settings)).then(
    () => null,
    (error: unknown) => error,
  );
}

it('a password that the server repeats is in no message', async () => {
  const reply = `TAG NO [AUTHENTICATIONFAILED] ${MAIL_PASSWORD} is wrong`;
  const fault = await faultOf((command) => (command.startsWith('LOGIN') ? [reply] : null));
  expect(fault).toMatchObject({ category: 'source_refused', message: expect.stringContaining('(*** is wrong)') });
});

it('a server that takes no login at the moment is asked again later', async () => {
  const reply = ['TAG NO [UNAVAILABLE] Too many sessions'];
  const fault = await faultOf((command) => (command.startsWith('LOGIN') ? reply : null));
  expect(fault).toMatchObject({ category: 'source_unavailable', retryable: true });
  expect(fault).toMatchObject({
    message: expect.stringContaining('does not accept logins at the moment (Too many sessions)'),
  });
});

it('a server without a fitting way to log in is a fault', async () => {
  const tokenless = { tokenUrl: 'http://127.0.0.1:1/token', clientId: 'a', clientSecret: new Secret('b') };
  const script: ImapScript = (command) => (command === 'CAPABILITY' ? [CAPABILITY, 'TAG OK done'] : null);
  const login = { ...tokenless, refreshToken: null, scope: null };
  expect(await faultOf(script, { login })).toMatchObject({
    ...{ category: 'source_unavailable', retryable: true },
    message: expect.stringContaining('the authorization server 127.0.0.1:1 cannot be used'),
  });
  expect(await faultOf(script, { security: 'starttls' })).toMatchObject({
    ...{ category: 'source_unavailable', retryable: false },
    message: expect.stringMatching(/security is starttls, and TLS fails/),
  });
});

it('a folder that the server refuses to read is a fault of the folder', async () => {
  const fault = await faultOf((command) => (command.startsWith('EXAMINE') ? ['TAG NO [NOPERM] Not yours'] : null), {});
  expect(String(fault)).toMatch(/refuses to read the folder "INBOX" \(.*Not yours\); check the rights of keeper/);
});

it.each([
  ['limits the rate', ['TAG BAD Request is throttled. Suggested Backoff Time: 5 milliseconds'], 'limits the rate'],
  ['does not search', ['TAG NO [CANNOT] No index'], 'does not search the folder "INBOX"'],
])('a server that %s is a fault with its words', async (_what, reply, words) => {
  const fault = await faultOf((command) => (command.startsWith('UID SEARCH') ? reply : null));
  expect(fault).toMatchObject({ category: 'source_unavailable', message: expect.stringContaining(words) });
});

it('a server that says goodbye while it lists is a fault, so that nothing is removed', async () => {
  const fault = await faultOf((command) => {
    if (command.startsWith('UID SEARCH')) return ['* SEARCH 1 2 3', 'TAG OK done'];
    return command.startsWith('UID FETCH')
      ? ['* 1 FETCH (UID 1 RFC822.SIZE 10)', '* BYE Shutting down', 'CLOSE']
      : null;
  });
  expect(fault).toMatchObject({ category: 'source_unavailable' });
});

it('a message that the server cannot send is a fault, and the others are read', async () => {
  const reader = await openScripted((command) => {
    if (command.startsWith('UID SEARCH')) return ['* SEARCH 1 2 3', 'TAG OK done'];
    const uids = /^UID FETCH (\S+) /.exec(command)?.[1];
    if (uids === undefined) return null;
    if (command.includes('BODY') && /2/.test(uids)) return ['TAG NO [SERVERBUG] Message 2 is damaged'];
    const wanted = uids === '1:3' ? ['1', '2', '3'] : uids.split(',');
    const sent = command.includes('BODY') ? ' BODY[]<0> "Text"' : ' RFC822.SIZE 4';
    return [...wanted.map((uid) => `* ${uid} FETCH (UID ${uid}${sent})`), 'TAG OK done'];
  });
  expect(await reader.read(await listAll(reader), NEVER)).toMatchObject([
    { key: 'INBOX/7-1.eml', content: { bytes: Buffer.from('Text') } },
    { key: 'INBOX/7-2.eml', fault: 'the server refuses to send it (Message 2 is damaged)' },
    { key: 'INBOX/7-3.eml', content: { bytes: Buffer.from('Text') } },
  ]);
});
