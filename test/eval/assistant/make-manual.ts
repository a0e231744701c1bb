import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
// @ts-expect-error pdfkit ships no types
import PDFDocument from 'pdfkit';
import { readMarkdown } from '../../../src/ingest/extract/read-markdown.ts';

/** Parts of the manual in order: folders of npm's documentation. */
const PARTS = ['using-npm', 'configuring-npm', 'commands'];
const HEADING_SIZES = [20, 15, 13, 12];
const TEXT_SIZE = 10;
const CODE_SIZE = 8;

/** Return the folder of the documentation that npm brings along; null if npm does not run this process. */
export function findDocumentation(): string | null {
  const cli = process.env['npm_execpath'];
  if (cli === undefined) return null;
  const folder = path.join(path.dirname(cli), '..', 'docs', 'content');
  return existsSync(folder) ? folder : null;
}

/** Make one PDF of A5 pages from the documentation of npm, as a manual that people print. */
export async function makeManual(folder: string): Promise<{ readonly bytes: Buffer; readonly pages: number }> {
  const document = new PDFDocument({ size: 'A5', margin: 54, bufferPages: true });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<void>((resolve) => document.on('end', resolve));
  for (const [nth, part] of PARTS.entries()) {
    for (const [at, file] of readdirSync(path.join(folder, part)).sort().entries()) {
      if (nth + at > 0) document.addPage();
      writeChapter(document, readFileSync(path.join(folder, part, file), 'utf8'));
    }
  }
  const { count } = document.bufferedPageRange();
  for (let page = 0; page < count; page++) {
    document.switchToPage(page);
    document.page.margins.bottom = 0;
    document.font('Helvetica').fontSize(CODE_SIZE);
    document.text(`npm manual  ${page + 1}`, 54, document.page.height - 36, { lineBreak: false });
  }
  document.end();
  await done;
  return { bytes: Buffer.concat(chunks), pages: count };
}

function writeChapter(document: InstanceType<typeof PDFDocument>, markdown: string): void {
  const title = /^title: (.*)$/m.exec(markdown)?.[1] ?? '';
  const body = markdown.replace(/^---\n[\s\S]*?\n---\n/, '');
  writeHeading(document, title, 1);
  for (const { kind, text, level = 1 } of readMarkdown(body)) {
    if (kind === 'heading') writeHeading(document, text, Math.max(level - 1, 2));
    else {
      document.font(kind === 'code' ? 'Courier' : 'Helvetica').fontSize(kind === 'code' ? CODE_SIZE : TEXT_SIZE);
      document.text(text).moveDown(0.5);
    }
  }
}

function writeHeading(document: InstanceType<typeof PDFDocument>, text: string, level: number): void {
  const size = HEADING_SIZES[Math.min(level, HEADING_SIZES.length) - 1] as number;
  document.font('Helvetica-Bold').fontSize(size).text(text).moveDown(0.4);
}
