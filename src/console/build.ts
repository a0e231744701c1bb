import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { build, type OutputFile } from 'esbuild';
import { buildSite } from './site.ts';

/**
 * Build the files that the server sends to browsers into `src/console/dist`: `node src/console/build.ts`.
 *
 * - The console: its page, and under `assets/` files whose names have the hash of their content, so that browsers may
 *   keep them.
 * - The files of the API reference, under `reference/`.
 * - The documentation, under `help/`.
 *
 * Beside every script, style and SVG is its Brotli form, `NAME.br`, so that the server never compresses a file.
 */

const HERE = import.meta.dirname;

/** URL path under which the files are served. */
const PUBLIC_PATH = '/console';

/** Name of a file with the hash of its content. */
const HASHED = /-[A-Z0-9]{8}\.\w+(\.br)?$/;

/** Names of files that are also stored in Brotli form. */
const COMPRESSED = /\.(?:js|css|svg)$/;

/** Compression quality at which a megabyte takes a fraction of a second. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

const REFERENCE = new URL('../../server/reference/', import.meta.url);
const SWAGGER_UI = new URL('.', import.meta.resolve('swagger-ui-dist/package.json'));
/** Files of the API reference, by folder. */
const REFERENCE_FILES = [
  ['start.js', REFERENCE],
  ['page.css', REFERENCE],
  ['swagger-ui.css', SWAGGER_UI],
  ['swagger-ui-bundle.js', SWAGGER_UI],
] as const;

/** @returns the written files without their compressed forms, by path relative to `directory` */
export async function buildConsole(directory = path.join(HERE, 'dist')): Promise<Map<string, Uint8Array>> {
  const result = await build({
    absWorkingDir: HERE,
    entryPoints: [
      { in: 'main.tsx', out: 'console' },
      { in: 'styles/index.css', out: 'console' },
      { in: 'icon.svg', out: 'icon' },
    ],
    outdir: '/',
    publicPath: PUBLIC_PATH,
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    legalComments: 'eof',
    charset: 'utf8',
    write: false,
    logLevel: 'warning',
  });
  const files = new Map(result.outputFiles.map((file) => [file.path.replace(/^\//, ''), file.contents]));
  for (const [name, folder] of REFERENCE_FILES) {
    files.set(`reference/${name}`, await readFile(fileURLToPath(new URL(name, folder))));
  }
  files.set('index.html', Buffer.from(renderPage(result.outputFiles)));
  await replaceFiles(directory, files);
  return files;
}

function renderPage(files: readonly OutputFile[]): string {
  const address = (pattern: RegExp) => {
    const file = files.find(({ path: name }) => pattern.test(name));
    if (file === undefined) throw new Error(`the build has no file ${pattern}`);
    return PUBLIC_PATH + file.path;
  };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Console</title>
<link rel="icon" href="${address(/icon-\w+\.svg$/)}" type="image/svg+xml">
<link rel="stylesheet" href="${address(/console-\w+\.css$/)}">
<script type="module" src="${address(/console-\w+\.js$/)}"></script>
</head>
<body>
<noscript>This page needs JavaScript. Allow it in the settings of your browser, and then load the page again.</noscript>
<div id="app"></div>
</body>
</html>
`;
}

/**
 * Write the files, the page last, and then remove those of earlier builds. Thus a server always finds complete files
 * and every file that its page names, and concurrent builds don't interfere.
 */
async function replaceFiles(directory: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  for (const [name, contents] of files) {
    await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
    if (COMPRESSED.test(name))
      await replaceFile(path.join(directory, `${name}.br`), brotliCompressSync(contents, BROTLI));
    await replaceFile(path.join(directory, name), contents);
  }
  for (const name of await readdir(path.join(directory, 'assets'))) {
    if (HASHED.test(name) && !files.has(`assets/${name.replace(/\.br$/, '')}`))
      await rm(path.join(directory, 'assets', name), { force: true });
  }
}

async function replaceFile(target: string, contents: Uint8Array): Promise<void> {
  const temporary = `${target}.${process.pid}`;
  await writeFile(temporary, contents);
  await rename(temporary, target);
}

/** Folder of the documentation. A package with only the program lacks it. */
const DOCS = path.join(HERE, '../../docs');

if (import.meta.main) {
  const files = await buildConsole();
  if (existsSync(DOCS)) buildSite(path.join(HERE, 'dist/help'));
  const bytes = [...files.values()].reduce((sum, contents) => sum + contents.length, 0);
  process.stdout.write(`console: ${files.size} files, ${Math.round(bytes / 1024)} kB\n`);
}
