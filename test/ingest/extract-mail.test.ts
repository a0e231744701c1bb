import { describe, expect, test } from 'vitest';
import { type MailPart, makeMail } from '../support/make-mail.ts';
import { docxParagraph, makeDocx } from '../support/office-samples.ts';
import { brief, extract, readHere } from '../support/read-document.ts';
import { makePdf } from '../support/sample-files.ts';
import { writeZip } from '../support/write-zip.ts';

const HEADS = [
  'heading1: Harbour 항만',
  'paragraph: From: 김서막 <kim@example.org>\nTo: Lee <lee@example.org>, office@example.org\nDate: 2024-03-14T00:00:00.000Z',
];
const text = (body: string): MailPart => ({ type: 'text/plain; charset=utf-8', body });

describe('a mail', () => {
  test('a mail has its subject, sender and recipients, its body and its attachments, each read by its own reader', async () => {
    const mail = makeMail([
      text('Please read.\n\n첨부를 보세요.'),
      {
        type: 'application/octet-stream',
        name: 'plan.docx',
        body: makeDocx(docxParagraph('Plan', '<w:pStyle w:val="H1"/>') + docxParagraph('부두')),
      },
      {
        type: 'application/octet-stream',
        name: 'scan.pdf',
        body: await makePdf([{ heading: 'A', paragraphs: ['first page'] }, { paragraphs: ['second page'] }]),
      },
      { type: 'text/csv', name: 'costs.csv', body: 'item,won\ngranite,1200\n' },
      { type: 'text/markdown', name: 'notes.md', body: '# Note\n\n`code`' },
      { type: 'application/json', name: 'data.json', body: '[{"a":1}]' },
      { type: 'text/html', name: 'page.html', body: '<h2>Page</h2><p>words' },
    ]);
    const document = await extract(mail, 'mail.eml');
    expect(document).toMatchObject({ format: 'eml', pages: null, skipped: [] });
    expect(brief(document.blocks)).toEqual([
      ...HEADS,
      'paragraph: Please read.',
      'paragraph: 첨부를 보세요.',
      'heading2: plan.docx',
      'heading3: Plan',
      'paragraph: 부두',
      'heading2@1: scan.pdf',
      'heading3@1: A',
      'paragraph@1: first page',
      'paragraph@2: second page',
      'heading2: costs.csv',
      'table: item | won\ngranite | 1200',
      'heading2: notes.md',
      'heading3: Note',
      'paragraph: code',
      'heading2: data.json',
      'table: a: 1',
      'heading2: page.html',
      'heading4: Page',
      'paragraph: words',
    ]);
  });

  test('the HTML body of a mail is preferred to the plain text, and its tables are kept', async () => {
    const html = '<h1>Offer</h1><table><tr><td>a</td><td>b</td></tr></table>';
    const mail = Buffer.from(
      'Subject: s\r\nFrom: a@b.c\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n' +
        `--x\r\nContent-Type: text/plain\r\n\r\nplain\r\n--x\r\nContent-Type: text/html\r\n\r\n${html}\r\n--x--\r\n`,
    );
    expect(brief((await readHere(mail, 'a.eml')).blocks)).toEqual([
      'heading1: s',
      'paragraph: From: a@b.c',
      'heading2: Offer',
      'table: a | b',
    ]);
  });

  test('names of attachments have no marks of text direction and no control characters', async () => {
    const name = '\u202etxt.exe\u2066\u007f.txt';
    const { blocks } = await readHere(makeMail([{ type: 'text/plain', name, body: 'words' }]), 'a.eml');
    expect(brief(blocks)).toContain('heading2: txt.exe .txt');
  });

  test('attachments that cannot be read are named, and the others are read', async () => {
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(200)]);
    const { blocks, skipped } = await readHere(
      makeMail([
        { type: 'image/png', name: 'photo.png', body: png },
        { type: 'application/zip', name: 'locked.zip', body: writeZip([{ name: 'a', data: 'x', isEncrypted: true }]) },
        { type: 'application/pdf', name: 'broken.pdf', body: '%PDF-1.7 nothing' },
        { type: 'text/plain', name: 'last.txt', body: 'still read' },
      ]),
      'a.eml',
    );
    expect(skipped).toEqual([
      { name: 'photo.png', category: 'unsupported_type' },
      { name: 'locked.zip', category: 'encrypted' },
      { name: 'broken.pdf', category: 'corrupt' },
    ]);
    expect(brief(blocks).slice(2)).toEqual([
      'heading2: photo.png',
      'heading2: locked.zip',
      'heading2: broken.pdf',
      'heading2: last.txt',
      'paragraph: still read',
    ]);
  });

  test('names of attachments have no control characters, and stay distinct without them', async () => {
    const named = (name: string, body: string | Uint8Array) => ({
      ...{ type: 'application/octet-stream', body },
      more: `Content-Disposition: attachment; filename*=UTF-8''${name}\r\n`,
    });
    const binary = Buffer.from([0, 1, 2, 3, 255, 254, 200]);
    const mail = makeMail([
      named('a%00b.bin', binary),
      named('a%00%01%C2%85b.bin', binary),
      named('%00', binary),
      named('c%0A%00.txt', 'read'),
    ]);
    const { blocks, skipped } = await readHere(mail, 'a.eml');
    const names = ['a b.bin', 'a b.bin (2)', 'Attachment 1'];
    expect(skipped).toEqual(names.map((name) => ({ name, category: 'unsupported_type' })));
    expect(blocks.slice(2).map(({ text, file }) => `${file}: ${text}`)).toEqual([
      ...names.map((name) => `${name}: ${name}`),
      'c .txt: c .txt',
      'c .txt: read',
    ]);
  });

  test('attached mails are read to a depth of three', async () => {
    let mail = makeMail([text('innermost')], 'Subject: level 5');
    for (const level of [4, 3, 2, 1]) {
      mail = makeMail(
        [{ type: 'message/rfc822', name: `level-${level + 1}.eml`, body: mail }],
        `Subject: level ${level}`,
      );
    }
    const { blocks, skipped } = await readHere(mail, 'a.eml');
    expect(brief(blocks).filter((line) => line.startsWith('heading'))).toEqual([
      'heading1: level 1',
      'heading2: level-2.eml',
      'heading3: level 2',
      'heading4: level-3.eml',
      'heading5: level 3',
      'heading6: level-4.eml',
      'heading7: level 4',
      'heading8: level-5.eml',
    ]);
    expect(skipped).toEqual([{ name: 'level-2.eml / level-3.eml / level-4.eml / level-5.eml', category: 'too_large' }]);
  });

  test('all attachments of a mail share one bound on unpacked bytes', async () => {
    const big = makeDocx(docxParagraph('x'.repeat(600_000)));
    const parts = [1, 2, 3].map((n) => ({ type: 'application/octet-stream', name: `${n}.docx`, body: big }));
    const { skipped } = await readHere(makeMail(parts), 'a.eml', { unpackedBytesMax: 1_000_000 });
    expect(skipped.map(({ category }) => category)).toEqual(['too_large', 'too_large']);
  });

  test('an encrypted mail ends as encrypted', async () => {
    const head = 'Subject: s\r\nFrom: a@b.c\r\nMIME-Version: 1.0\r\nContent-Type: ';
    for (const type of [
      'application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m',
      'multipart/encrypted; protocol="application/pgp-encrypted"; boundary=x',
    ]) {
      const mail = Buffer.from(`${head}${type}\r\n\r\n--x\r\n\r\nMIAG\r\n--x--\r\n`);
      await expect(readHere(mail, 'a.eml'), type).rejects.toMatchObject({ category: 'encrypted' });
    }
  });

  test('a mail with endlessly nested parts or endless headers ends as corrupt', async () => {
    const boundaries = Array.from(
      { length: 300 },
      (_, i) => `--b${i}\r\nContent-Type: multipart/mixed; boundary=b${i + 1}\r\n\r\n`,
    );
    const nested = `Subject: s\r\nFrom: a@b.c\r\nContent-Type: multipart/mixed; boundary=b0\r\n\r\n${boundaries.join('')}`;
    await expect(readHere(Buffer.from(nested), 'a.eml')).rejects.toMatchObject({ category: 'corrupt' });
    const headers = `Subject: s\r\nFrom: a@b.c\r\n${'X-Long: filler filler filler\r\n'.repeat(100_000)}\r\ntext`;
    await expect(readHere(Buffer.from(headers), 'a.eml')).rejects.toMatchObject({ category: 'corrupt' });
  });
});
