import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { analyse } from '../../src/language/analyser.ts';
import { loadLanguageDetector } from '../../src/language/detect-language.ts';
import { findLibrary } from '../../src/local-models/runtime/find-library.ts';
import { loadCl100k } from '../../src/models/cl100k.ts';
import { decodeImage } from '../../src/recognition/decode-images.ts';
import { openOcr } from '../../src/recognition/ocr.ts';
import { keepLogs } from './logs.ts';

/**
 * Program that reads the files of its arguments with the packages beside it and prints their texts as JSON. The text of
 * pictures, also of those in documents, comes from OCR; the last entry is a number of tokens.
 */
const ocr = openOcr(keepLogs().logger, { processesMax: 1 });
const never = new AbortController().signal;
const recognise = (bytes: Uint8Array) => ocr.transcribe(decodeImage(Buffer.from(bytes).toString('base64')), never);
const texts: Record<string, string> = {};
for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const fileName = path.basename(file);
  const document = fileName.endsWith('.png')
    ? await recognise(bytes)
    : await extractDocument({
        ...{ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName },
        pictures: { strategy: 'auto', read: recognise },
      });
  texts[fileName] = document.text;
}
await ocr.close();
// Load the packages of which parts are removed: queues, the terminal, the index, schemas, S3, archives, mailboxes,
// languages, ONNX Runtime.
const LOADED = [
  'bee-queue',
  'ink',
  '@lancedb/lancedb',
  'apache-arrow',
  'zod',
  'koffi',
  '@aws-sdk/client-s3',
  'tar-stream',
  'imapflow',
];
for (const name of LOADED) await import(name);
// A request loads the rest of the SDK: signing, checksums and the connection, which is refused.
const { S3Client, PutObjectCommand } = await import('@aws-sdk/client-s3');
const client = new S3Client({
  ...{ region: 'x', endpoint: 'http://127.0.0.1:9', forcePathStyle: true, maxAttempts: 1 },
  credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
});
const refused = await client.send(new PutObjectCommand({ Bucket: 'b', Key: 'k', Body: 'x' })).catch((error) => error);
if (refused?.code !== 'ECONNREFUSED') throw refused;
await loadLanguageDetector();
findLibrary(null);
const countTokens = await loadCl100k();
const terms = analyse('Die Häuser und der Bahnhof');
process.stdout.write(JSON.stringify({ ...texts, tokens: countTokens('hello world', 100), terms }));
