/**
 * Thread that uploads documents and searches for some of them, so that its own work doesn't delay the searches that the
 * benchmark measures. It starts immediately. Its message contains the results.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { LeanClient } from '../lean-client.ts';

/** Data of the thread. */
export interface Uploads {
  readonly url: string;
  readonly authorization: string;
  readonly bucket: string;
  /** Texts of the documents, in turn. */
  readonly texts: readonly string[];
  readonly perSecond: number;
  readonly seconds: number;
}

/** Message of the thread. */
export interface Uploaded {
  readonly uploaded: number;
  /** Number of documents that were searched for as soon as they were ready, and number of those found. */
  readonly ready: number;
  readonly found: number;
  /** Times from upload to ready, of the documents that were searched for. */
  readonly readyMs: readonly number[];
}

/** Interval between documents that are searched for as soon as they are ready. */
const PROBE_MS = 500;

const { url, authorization, bucket, texts, perSecond, seconds } = workerData as Uploads;
const headers = { authorization };
const documentsUrl = `${url}/v1/buckets/${bucket}/documents`;
const idle: LeanClient[] = [];
const untilMs = performance.now() + seconds * 1000;
const [uploaded, probed] = await Promise.all([uploadAll(), probe()]);
for (const client of idle) client.close();
parentPort?.postMessage({ uploaded, ...probed } satisfies Uploaded);
parentPort?.close();

async function upload(filename: string, text: string): Promise<string> {
  const client = idle.pop() ?? (await LeanClient.open(documentsUrl, headers, 202));
  const reply = await client.post(JSON.stringify({ filename, text }));
  idle.push(client);
  return (JSON.parse(reply.toString()) as { id: string }).id;
}

/** @returns number of uploaded documents */
async function uploadAll(): Promise<number> {
  const beganMs = performance.now();
  const pending: Promise<string>[] = [];
  while (performance.now() < untilMs) {
    const due = ((performance.now() - beganMs) / 1000) * perSecond;
    while (pending.length < due) {
      const number = pending.length;
      pending.push(upload(`note-${number}.txt`, `${texts[number % texts.length]} Note ${number}.`));
    }
    await delay(10);
  }
  await Promise.all(pending);
  return pending.length;
}

/** Upload documents with a unique word, and search for each once when it is ready. */
async function probe(): Promise<Omit<Uploaded, 'uploaded'>> {
  const client = await LeanClient.open(`${url}/v2/buckets/${bucket}/search`, headers);
  const readyMs: number[] = [];
  let found = 0;
  while (performance.now() < untilMs) {
    const word = `zanzibar${readyMs.length}q`;
    const beganMs = performance.now();
    const id = await upload(`${word}.txt`, `The ${word} is here.`);
    for (;;) {
      const shown = await fetch(`${documentsUrl}/${id}`, { headers });
      if (((await shown.json()) as { status: string }).status === 'ready') break;
      await delay(20);
    }
    readyMs.push(performance.now() - beganMs);
    const reply = await client.post(JSON.stringify({ query: word, mode: 'keyword', top_k: 1 }));
    const { results } = JSON.parse(reply.toString()) as { results: { document_id: string }[] };
    if (results[0]?.document_id === id) found++;
    await delay(PROBE_MS);
  }
  client.close();
  return { ready: readyMs.length, found, readyMs };
}
