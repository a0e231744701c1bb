import { expect, test } from 'vitest';
import { detectFormat } from '../../src/ingest/extract/detect-format.ts';
import { recogniseType } from '../../src/ingest/extract/recognise-type.ts';
import { makeHtml, makePdf, makeZip } from '../support/sample-files.ts';

const detect = (content: string | Uint8Array, fileName: string, contentType: string | null = null) =>
  detectFormat(
    { head: typeof content === 'string' ? Buffer.from(content) : content, fileName, contentType },
    recogniseType,
  );

const binary = Uint8Array.from({ length: 4096 }, (_, i) => (i * 7919 + i * i * 31) % 256);
const executable = Buffer.concat([
  Buffer.from('MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff', 'latin1'),
  Buffer.alloc(512),
]);

test.each([
  ['plain words', 'notes.txt', null, 'txt'],
  ['plain words', 'notes', null, 'txt'],
  ['plain words', 'notes.unknown', 'application/octet-stream', 'txt'],
  ['# Title', 'README.md', null, 'md'],
  ['# Title', 'README.MARKDOWN', null, 'md'],
  ['# Title', 'readme', 'text/markdown; charset=utf-8', 'md'],
  ['<p>fragment', 'part.html', null, 'html'],
  ['<p>fragment', 'part', 'text/html', 'html'],
  ['<p>fragment', 'part.txt', 'text/html', 'txt'],
  ['<!DOCTYPE html><p>x', 'page.txt', null, 'html'],
  ['\ufeff <!-- saved -->\n<html><p>x', 'page', null, 'html'],
  ['<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html>', 'page.md', null, 'html'],
  ['<htmlish>', 'notes.txt', null, 'txt'],
  ['%PDF-1.7\n', 'anything.txt', 'text/plain', 'pdf'],
  ['junk before\n%PDF-1.7\n', 'scan.pdf', null, 'pdf'],
  ['The header of a file is %PDF-1.7', 'about.txt', null, 'txt'],
  // These words begin like a signature of two bytes (bitmap, DOS program).
  ['BM is short for bitmap', 'notes.txt', null, 'txt'],
  ['MZ stands for Mark Zbikowski', 'notes.txt', null, 'txt'],
  ['log line with a NUL: \0 and more of it', 'notes.txt', null, 'txt'],
  ['a,b\n1,2', 'table.CSV', null, 'csv'],
  ['a,b\n1,2', 'table', 'text/csv; charset=utf-8', 'csv'],
  ['a\tb\n1\t2', 'table.tsv', null, 'tsv'],
  ['{"a":1}', 'data.json', null, 'json'],
  ['{"a":1}', 'data', 'application/json', 'json'],
  ['{"a":1}', 'notes.txt', 'application/json', 'txt'],
  ['{"a":1}\n{"a":2}', 'data.jsonl', null, 'jsonl'],
  ['hello, not JSON', 'data.json', null, 'txt'],
  ['<html><table>', 'export.csv', null, 'html'],
  ['{\\rtf1\\ansi hello}', 'notes.txt', null, 'rtf'],
  ['{\\rtf1\\ansi hello}', 'letter.docx', null, 'rtf'],
  ['PK\x03\x04 rest', 'report.pdf', null, 'zip'],
  ['Subject: hi\nFrom: a@b.c\n\ntext', 'mail.eml', null, 'eml'],
  ['Subject: hi\nFrom: a@b.c\n\ntext', 'part', 'message/rfc822', 'eml'],
  ['Received: x\n by y\nFrom: a@b.c\nTo: d@e.f\n\ntext', 'saved.txt', null, 'eml'],
  ['From: the desk of\nSubject: notes\n\ntext', 'notes.txt', null, 'txt'],
  ['no header at all', 'mail.eml', null, 'txt'],
])('the content %j named %s (%s) is detected as %s', async (content, name, contentType, format) => {
  expect((await detect(content, name, contentType)).format).toBe(format);
});

test('text in any encoding is detected as text', async () => {
  const encodings = {
    utf16le: Buffer.from('\ufeffplain words', 'utf16le'),
    utf16leWithoutMark: Buffer.from('plain words', 'utf16le'),
    eucKr: Buffer.from('c7d1b1dbb9aebcad20b0cbbbf6', 'hex'),
    latin1: Buffer.from('na\xefve caf\xe9', 'latin1'),
  };
  for (const [name, content] of Object.entries(encodings)) {
    expect((await detect(content, 'notes.txt')).format, name).toBe('txt');
  }
});

test('the charset of the content type is part of the result', async () => {
  expect(await detect('<html>', 'a.html', 'text/html; Charset="EUC-KR"')).toEqual({
    format: 'html',
    charset: 'euc-kr',
  });
});

test('real files are recognised independently of their names', async () => {
  expect((await detect(await makePdf([{ heading: 'A' }]), 'a.docx')).format).toBe('pdf');
  expect((await detect(makeHtml('<p>x'), 'a.pdf')).format).toBe('html');
  expect((await detect(makeZip('a.txt', 'hello'), 'a.txt')).format).toBe('zip');
  expect((await detect(Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'a.txt')).format).toBe('cfb');
});

test.each([
  ['png', '89504e470d0a1a0a0000000d49484452'],
  ['jpeg', 'ffd8ffe000104a464946'],
  ['gif', '47494638396101000100'],
  ['webp', '52494646100000005745425056503820'],
  ['tiff', '49492a0008000000'],
  ['tiff', '4d4d002a00000008'],
])('a picture is recognised by its first bytes (%s)', async (format, hex) => {
  expect((await detect(Buffer.from(hex, 'hex'), 'notes.txt')).format).toBe(format);
});

test.each([
  ['an empty file', '', 'a.txt', 'corrupt', 'the file is empty'],
  ['a Hancom document of the 1990s', 'HWP Document File V3.00 \x1a\x01', 'a.hwp', 'unsupported_type', /version 5/],
  ['a program', executable, 'setup.txt', 'unsupported_type', /not supported|binary/],
  ['a picture of an unsupported format', Buffer.from('8a4d4e470d0a1a0a', 'hex'), 'a.mng', 'unsupported_type', /binary/],
  ['garbage named as a PDF', binary, 'a.pdf', 'corrupt', /not a PDF/],
  ['garbage declared as a PDF', binary, 'a', 'corrupt', /not a PDF/, 'application/pdf'],
  ['garbage', binary, 'a.txt', 'unsupported_type', /binary/],
  ['text named as a PDF', 'hello', 'a.pdf', 'corrupt', /plain text/],
  ['text named as an office document', 'hello', 'a.DOCX', 'corrupt', /plain text/],
])('%s is refused', async (_, content, name, category, message, contentType: string | null = null) => {
  await expect(detect(content, name, contentType)).rejects.toMatchObject({
    name: 'ExtractError',
    category,
    retryable: false,
    message: expect.stringMatching(message),
  });
});
