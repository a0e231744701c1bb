import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { measureParts, slimModules } from '../../src/install/slim-modules.ts';
import { english, korean } from '../recognition/ocr-samples.ts';
import { encodePng } from '../support/encode-image.ts';
import { makeKscPdf, makePdf, sampleParagraph } from '../support/sample-files.ts';
import { greyImage, makeScanPdf } from '../support/scan-samples.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const INSTALLED_MB_MAX = 570;

/** List the packages that are installed in production, as paths relative to the project. */
function productionPackages(): string[] {
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([name, { dev, devOptional }]) => name !== '' && !dev && !devOptional)
    .map(([name]) => name)
    .filter((name) => name.lastIndexOf('node_modules/') === 0 && existsSync(path.join(ROOT, name)));
}

/** Copy the sources and the packages of production, whose files are linked where the file system allows it. */
function copyInstallation(): string {
  const tree = mkdtempSync(path.join(tmpdir(), 'slim-modules-'));
  onTestFinished(() => rmSync(tree, { recursive: true, force: true }));
  for (const name of ['bin', 'commands', 'server', 'src', 'package.json', 'test/support/logs.ts']) {
    mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
    cpSync(path.join(ROOT, name), path.join(tree, name), { recursive: true });
  }
  cpSync(path.join(ROOT, 'test/support/slimmed-tree-child.ts'), path.join(tree, 'test/support/slimmed-tree-child.ts'));
  const copy = (...flags: string[]) =>
    spawnSync('cp', ['-R', '-P', '-p', ...flags, '--parents', ...productionPackages(), tree], { cwd: ROOT }).status;
  expect(copy('--link') === 0 || copy() === 0).toBe(true);
  return tree;
}

// --parents and --link are flags of the cp of GNU.
test.runIf(process.platform === 'linux')(
  'slimmed packages still read documents, recognise text in pictures, count tokens and find stems',
  async () => {
    const tree = copyInstallation();
    await slimModules(path.join(tree, 'node_modules'));
    const files: Record<string, Buffer> = {
      'paper.pdf': await makePdf([{ heading: 'Introduction', paragraphs: [sampleParagraph('glider')] }]),
      'korean-encoding.pdf': makeKscPdf('c7d1b1dbb9aebcad'),
      'scan.pdf': makeScanPdf([{ images: [greyImage(english)] }]),
      'english.png': encodePng(english),
      'korean.png': encodePng(korean),
      'page.html': Buffer.from('<h1>Title</h1><p>A paragraph.</p>'),
    };
    for (const [name, bytes] of Object.entries(files)) writeFileSync(path.join(tree, name), bytes);

    const script = path.join(tree, 'test/support/slimmed-tree-child.ts');
    const names = Object.keys(files).map((name) => path.join(tree, name));
    const { stdout, stderr } = spawnSync(process.execPath, [script, ...names], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      'paper.pdf': `Introduction\n\n${sampleParagraph('glider')}`,
      'korean-encoding.pdf': '한글문서',
      'scan.pdf': expect.stringContaining('VECTOR SEARCH 2047'),
      'english.png': 'HELLO WORLD\nVECTOR SEARCH 2047',
      'korean.png': expect.stringContaining('한국어'),
      'page.html': 'Title\n\nA paragraph.',
      tokens: 2,
      terms: ['die', 'haus', 'und', 'der', 'bahnhof'],
    });

    const bytes = (await measureParts(tree)).reduce((sum, part) => sum + part.bytes, 0);
    expect(bytes / 1e6).toBeLessThanOrEqual(INSTALLED_MB_MAX);
  },
);
