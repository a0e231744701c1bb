import { expect, test } from 'vitest';
import { ExtractError } from '../../src/ingest/extract/errors.ts';
import { encodePng } from '../support/encode-image.ts';
import { makeMail } from '../support/make-mail.ts';
import { brief } from '../support/read-document.ts';
import { extract, gradient, picture, sizeOf } from '../support/read-pictures.ts';
import { damagedImage, encodeTiff, makeScanPdf } from '../support/scan-samples.ts';

/** Mail with attached scans and pictures, and with an attached mail that has another one. */
const mailOfPictures = () => {
  const tiff = encodeTiff([gradient(50, 60), gradient(51, 60)]);
  const scan = makeScanPdf([{ text: 'printed' }, { images: [picture(90)] }, { images: [picture(91)] }]);
  return makeMail([
    { type: 'text/plain', body: 'See below.' },
    { type: 'image/png', name: 'photo.png', body: encodePng(gradient(70, 60)) },
    { type: 'application/pdf', name: 'scan.pdf', body: scan },
    { type: 'image/tiff', name: 'fax.tiff', body: tiff },
    {
      type: 'message/rfc822',
      name: 'older.eml',
      body: makeMail([{ type: 'image/png', name: 'inner.png', body: encodePng(gradient(71, 60)) }], 'Subject: older'),
    },
  ]);
};
/** Recognised text of a picture: the size of a PNG file, "fax" for a TIFF file. */
const nameOf = async (file: Uint8Array) => (file[0] === 0x89 ? sizeOf(file) : 'fax');

test('the text of pictures and scans attached to a mail is under the heading of their attachment', async () => {
  const mail = await extract(mailOfPictures(), 'a.eml', nameOf);
  expect(brief(mail.blocks).slice(2)).toEqual([
    'paragraph: See below.',
    'heading2@1: photo.png',
    'paragraph@1: picture 70 x 60',
    'heading2@1: scan.pdf',
    'paragraph@1: printed',
    'paragraph@2: picture 90 x 60',
    'paragraph@3: picture 91 x 60',
    'heading2@1: fax.tiff',
    'paragraph@1: fax',
    'paragraph@2: fax',
    'heading2: older.eml',
    'heading3: older',
    'paragraph: From: 김서막 <kim@example.org>\nTo: Lee <lee@example.org>, office@example.org\nDate: 2024-03-14T00:00:00.000Z',
    'heading4@1: inner.png',
    'paragraph@1: picture 71 x 60',
  ]);
  // The pages are those of attachments, so the mail itself has none.
  expect(mail).toMatchObject({ pages: null, failedPages: [], recognisedPages: [], emptyPages: [], skipped: [] });
});

test('attached pictures that cannot be read are named, and the others are read', async () => {
  const read = async (file: Uint8Array) => {
    const name = await nameOf(file);
    if (/7[01] x|91 x/.test(name)) throw new ExtractError('upstream_rejected', 'refused');
    return name;
  };
  const mail = await extract(mailOfPictures(), 'a.eml', read);
  expect(mail.skipped).toEqual([
    { name: 'photo.png', category: 'upstream_rejected' },
    { name: 'scan.pdf', category: 'upstream_rejected' },
    { name: 'older.eml / inner.png', category: 'upstream_rejected' },
  ]);
  expect(mail.text).toContain('picture 90 x 60');
  const damaged = makeScanPdf([{ text: 'printed' }, { images: [damagedImage()] }]);
  const other = makeMail([{ type: 'application/pdf', name: 'scan.pdf', body: damaged }]);
  expect((await extract(other, 'a.eml')).skipped).toEqual([{ name: 'scan.pdf / page 2', category: 'corrupt' }]);
  const small = await extract(mailOfPictures(), 'a.eml', nameOf, { limits: { imageBytesMax: 4_500 } });
  expect(small.skipped).toContainEqual({ name: 'fax.tiff', category: 'too_large' });
  expect(small.text).toContain('picture 71 x 60');
  const few = await extract(mailOfPictures(), 'a.eml', nameOf, { limits: { imagesMax: 2 } });
  expect(few.skipped).toEqual([
    { name: 'scan.pdf / page 3', category: 'corrupt' },
    { name: 'fax.tiff', category: 'too_large' },
    { name: 'older.eml / inner.png', category: 'too_large' },
  ]);
});

test('pictures in the body of a mail are read only with the strategy always', async () => {
  const png = encodePng(gradient(70, 60)).toString('base64');
  const mail = Buffer.from(
    'Subject: s\r\nFrom: a@b.c\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n' +
      '--x\r\nContent-Type: text/html\r\n\r\n<p>words <img src="cid:logo"></p>\r\n' +
      `--x\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\nContent-Transfer-Encoding: base64\r\n\r\n${png}\r\n--x--\r\n`,
  );
  expect((await extract(mail, 'a.eml')).text).not.toContain('picture');
  const always = await extract(mail, 'a.eml', undefined, { strategy: 'always' });
  expect(brief(always.blocks).slice(-2)).toEqual(['heading2@1: Attachment 1', 'paragraph@1: picture 70 x 60']);
});
