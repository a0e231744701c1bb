import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { ImapFlow } from 'imapflow';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { SourceFault } from '../../../src/memory/readers/source-reader.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { TEST_CA } from '../../support/certificates.ts';
import { dovecotAvailable, MAIL_PASSWORD, startDovecot, type TestDovecot } from '../../support/dovecot.ts';
import { type FakeAuthorizationServer, startAuthorizationServer } from '../../support/fake-authorization-server.ts';
import { freePort } from '../../support/free-port.ts';
import { makeMail } from '../../support/make-mail.ts';
import { listAll, NEVER, openMail, readAll } from './open-mail.ts';
import { mailOf } from './places/mail-place.ts';

describe.skipIf(!dovecotAvailable())('a mailbox on Dovecot', () => {
  let tokens: FakeAuthorizationServer;
  let server: TestDovecot;
  let client: ImapFlow;
  const tls = () => ({ port: server.tlsPort });

  beforeAll(async () => {
    tokens = await startAuthorizationServer('keeper');
    server = await startDovecot({ tokenInfoUrl: tokens.tokenInfoUrl });
    client = await server.openClient();
  });
  afterAll(async () => {
    await client?.logout();
    await server?.drop();
    await tokens?.close();
  });

  describe('messages', () => {
    it('become entries with the bytes of the message, and what its headers say as metadata', async () => {
      const headers = ['Date: Thu, 14 Mar 2024 09:00:00 +0900', 'Message-ID: <a.1@example.org>'];
      const bytes = mailOf('Öl / 기름: price?', 'A text.', headers);
      await client.append('INBOX', bytes, [], new Date('2024-04-01T00:00:00Z'));
      const [entry, ...more] = await readAll(openMail(tls()));
      expect(more).toEqual([]);
      expect(entry).toMatchObject({
        key: expect.stringMatching(/^INBOX\/\d+-\d+\.eml$/),
        fileName: 'Öl _ 기름: price?.eml',
        sourcePath: 'INBOX/Öl _ 기름: price?.eml',
        contentType: 'message/rfc822',
        eventTimeMs: Date.parse('2024-03-14T00:00:00Z'),
        text: bytes.toString(),
      });
      expect(entry?.metadata).toEqual({
        ...{ source_kind: 'imap', mail_folder: 'INBOX', subject: 'Öl / 기름: price?' },
        ...{ from: 'Kittiwake <kittiwake@example.org>', to: 'keeper@example.org', date: '2024-03-14T00:00:00.000Z' },
        ...{ message_id: 'a.1@example.org', thread_id: 'a.1@example.org' },
      });
    });

    it('have the time of their arrival if they have no date, and a name if they have no subject', async () => {
      await client.mailboxCreate('Bare');
      await client.append(
        'Bare',
        Buffer.from('From: a@example.org\r\n\r\nText\r\n'),
        [],
        new Date('2024-04-01T00:00:00Z'),
      );
      const [entry] = await readAll(openMail(tls(), { folders: ['Bare'] }));
      expect(entry).toMatchObject({ fileName: 'No subject.eml', eventTimeMs: Date.parse('2024-04-01T00:00:00Z') });
    });

    it('of one conversation have the same thread_id', async () => {
      await client.mailboxCreate('Thread');
      const references = `References: <root@example.org>\r\n <${'x'.repeat(90)}@example.org> <two@example.org>`;
      for (const headers of [
        ['Message-ID: <root@example.org>'],
        ['Message-ID: <two@example.org>', 'In-Reply-To: <root@example.org>'],
        ['Message-ID: <three@example.org>', 'In-Reply-To: <two@example.org>', references],
        ['Message-ID: <other@example.org>'],
      ])
        await client.append('Thread', mailOf('Tides', 'Text', headers));
      const read = await readAll(openMail(tls(), { folders: ['Thread'] }));
      const root = 'root@example.org';
      expect(read.map(({ metadata }) => metadata['thread_id'])).toEqual([root, root, root, 'other@example.org']);
    });

    it('are gone when they are marked as deleted, and stay unread when they are read', async () => {
      await client.mailboxCreate('Marked');
      for (const name of ['one', 'two', 'three']) await client.append('Marked', mailOf(name, 'Text'));
      await client.mailboxOpen('Marked');
      await client.messageFlagsAdd('2', ['\\Deleted'], { uid: true });
      const read = await readAll(openMail(tls(), { folders: ['Marked'] }));
      expect(read.map(({ fileName }) => fileName)).toEqual(['one.eml', 'three.eml']);
      await client.noop();
      expect(await client.search({ seen: true }, { uid: true })).toEqual([]);
      await client.mailboxClose();
    });

    it('that arrived before since are left out', async () => {
      await client.mailboxCreate('Since');
      for (const day of ['2023-12-31', '2024-01-01', '2024-02-01'])
        await client.append('Since', mailOf(day, 'Text'), [], new Date(`${day}T12:00:00Z`));
      const read = await readAll(openMail(tls(), { folders: ['Since'], since: '2024-01-01' }));
      expect(read.map(({ fileName }) => fileName)).toEqual(['2024-01-01.eml', '2024-02-01.eml']);
    });

    it('that are too large are named by their subject, and read no further', async () => {
      await client.mailboxCreate('Large');
      await client.append('Large', mailOf('A long letter', 'Text\n'.repeat(1_000)));
      const reader = openMail(tls(), { folders: ['Large'], bytesMax: 1_000 });
      expect(await reader.read(await listAll(reader), NEVER)).toEqual([
        { key: expect.any(String), fault: expect.stringMatching(/^"A long letter\.eml": it has \d+ bytes, more than/) },
      ]);
    });

    it('without their attachments have their headers and their text', async () => {
      await client.mailboxCreate('Parts');
      await client.append(
        'Parts',
        makeMail([
          { type: 'text/plain; charset=utf-8', body: 'The text of the mail.' },
          { type: 'text/plain; charset=utf-8', name: 'tides.txt', body: 'Attached.' },
        ]),
      );
      await client.append('Parts', mailOf('Plain', 'Only text.'));
      await client.append('Parts', Buffer.from('Subject: Chart\r\nContent-Type: image/png\r\n\r\nBytes\r\n'));
      const [mixed, plain, chart] = await readAll(openMail(tls(), { folders: ['Parts'], attachments: false }));
      expect(mixed?.text).toContain('Content-Transfer-Encoding: base64');
      expect(mixed?.text).toContain(Buffer.from('The text of the mail.').toString('base64'));
      expect(mixed?.text).toContain('Date: Thu, 14 Mar 2024 09:00:00 +0900');
      expect(mixed?.text).not.toContain(Buffer.from('Attached.').toString('base64'));
      expect(mixed?.text.match(/^content-type:/gim)).toHaveLength(1);
      expect(plain?.text).toBe(mailOf('Plain', 'Only text.').toString());
      expect(chart?.text).toBe('Subject: Chart\r\n\r\n');
    });
  });

  describe('folders', () => {
    it('are chosen by names and patterns, whatever letters they have', async () => {
      for (const name of ['Work/2024', 'Work/2025/Q1', '항구 & Öl', '[Mail] old']) {
        await client.mailboxCreate(name);
        await client.append(name, mailOf(`in ${name}`, 'Text'));
      }
      const subjects = async (...folders: string[]) =>
        (await readAll(openMail(tls(), { folders }))).map(({ metadata }) => metadata['subject']).toSorted();
      expect(await subjects('Work/**')).toEqual(['in Work/2024', 'in Work/2025/Q1']);
      expect(await subjects('Work/*', '항구 & Öl'.normalize('NFD'))).toEqual(['in Work/2024', 'in 항구 & Öl']);
      expect(await subjects('[Mail] old')).toEqual(['in [Mail] old']);
    });

    it('that do not exist are a fault that names those that do', async () => {
      const listing = listAll(openMail(tls(), { folders: ['INBOX', 'Wrok/**'] }));
      await expect(listing).rejects.toThrow(/^there is no folder "Wrok\/\*\*"; the mailbox has: Bare, INBOX, /);
    });

    it('that disappear between the listing and the reading are a fault', async () => {
      await client.mailboxCreate('Short');
      await client.append('Short', mailOf('one', 'Text'));
      const entries = await listAll(openMail(tls(), { folders: ['Short'] }));
      await client.mailboxDelete('Short');
      const reading = openMail(tls(), { folders: ['Short'] }).read(entries, NEVER);
      await expect(reading).rejects.toMatchObject({ category: 'source_missing', retryable: true });
    });

    it('of many messages are listed in slices', async () => {
      await client.mailboxCreate('Many');
      for (let nth = 0; nth < 1_100; nth++) await client.append('Many', mailOf(`${nth}`, 'Text'));
      const slices: number[] = [];
      for await (const { entries } of openMail(tls(), { folders: ['Many'] }).list(NEVER)) slices.push(entries.length);
      expect(slices).toEqual([1_000, 100]);
    });
  });

  describe('a connection', () => {
    const faultOf = async (reading: Promise<unknown>): Promise<SourceFault> => {
      const error = await reading.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(SourceFault);
      expect((error as SourceFault).message).not.toContain(MAIL_PASSWORD);
      return error as SourceFault;
    };

    it('may use TLS, STARTTLS, or nothing', async () => {
      for (const settings of [
        tls(),
        { ...tls(), ca: readFileSync(TEST_CA, 'utf8') },
        { port: server.port, security: 'starttls' as const },
        { port: server.port, security: 'none' as const, ca: null },
      ])
        expect(await listAll(openMail(settings))).toHaveLength(1);
    });

    it('with a wrong password is refused with the words of the server', async () => {
      const login = { password: new Secret('a wrong one') };
      expect(await faultOf(listAll(openMail({ ...tls(), login })))).toMatchObject({
        category: 'source_refused',
        retryable: false,
        message: expect.stringMatching(/refuses the login of keeper \(.*failed.*\); check user and password/i),
      });
    });

    it('to a server with an unknown certificate is refused, and says how to trust it', async () => {
      const fault = await faultOf(listAll(openMail({ ...tls(), ca: null })));
      expect(fault).toMatchObject({ category: 'source_unavailable', message: expect.stringContaining('set ca') });
    });

    it('with a file of certificates that does not exist names the file', async () => {
      const fault = await faultOf(listAll(openMail({ ...tls(), ca: '/nowhere/ca.pem' })));
      expect(fault).toMatchObject({ category: 'source_settings', message: expect.stringContaining('/nowhere/ca.pem') });
    });

    it('to a server that is down fails for now', async () => {
      const fault = await faultOf(listAll(openMail({ port: await freePort() })));
      expect(fault).toMatchObject({ category: 'source_unavailable', retryable: true });
      expect(fault.message).toContain('nothing listens there');
    });

    it('ends when the signal aborts, even if the server is silent', async () => {
      const silent = createServer();
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void silent.close());
      const { port } = silent.address() as { port: number };
      const controller = new AbortController();
      silent.on('connection', (socket) => {
        socket.on('error', () => {});
        controller.abort(new Error('enough'));
      });
      const reader = openMail({ port, security: 'none' });
      await expect(listAll(reader, controller.signal)).rejects.toThrow('enough');
    });

    it('opens again after the server was restarted between two reads', async () => {
      const reader = openMail(tls());
      const entries = await listAll(reader);
      await client.logout();
      await server.stop();
      await server.start();
      client = await server.openClient();
      expect(await reader.read(entries, NEVER)).toHaveLength(1);
    });
  });

  describe('access tokens', () => {
    const oauth = (more: { refreshToken?: Secret | null } = {}) => ({
      ...{ tokenUrl: tokens.tokenUrl, clientId: 'appliance', clientSecret: new Secret('fulmar'), scope: null },
      ...{ refreshToken: new Secret('razorbill'), ...more },
    });

    it('come from the authorization server by a refresh token, or by the credentials of the client', async () => {
      expect(await listAll(openMail({ ...tls(), login: oauth() }))).toHaveLength(1);
      expect(
        await listAll(openMail({ ...tls(), login: { ...oauth({ refreshToken: null }), scope: 'imap' } })),
      ).toHaveLength(1);
      expect(tokens.requests).toEqual([
        { grant_type: 'refresh_token', refresh_token: 'razorbill', client_id: 'appliance', client_secret: 'fulmar' },
        { grant_type: 'client_credentials', client_id: 'appliance', client_secret: 'fulmar', scope: 'imap' },
      ]);
    });

    it('that the authorization server refuses to give are a fault with its words', async () => {
      tokens.refusal = { status: 400, body: '{"error":"invalid_grant","error_description":"Token was revoked."}' };
      await expect(listAll(openMail({ ...tls(), login: oauth() }))).rejects.toMatchObject({
        category: 'source_refused',
        message: expect.stringMatching(/gives no access token \(invalid_grant: Token was revoked\.\); check client_id/),
      });
      tokens.refusal = { status: 503, body: 'busy' };
      await expect(listAll(openMail({ ...tls(), login: oauth() }))).rejects.toMatchObject({
        category: 'source_unavailable',
        retryable: true,
      });
      tokens.refusal = null;
    });

    it('that the mail server refuses are a fault', async () => {
      tokens.wrongToken = 'of-somebody-else';
      const fault = openMail({ ...tls(), login: oauth() });
      await expect(listAll(fault)).rejects.toMatchObject({
        category: 'source_refused',
        message: expect.stringContaining('check user and oauth of the connection'),
      });
      tokens.wrongToken = null;
    });
  });
});
