import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decodeImage } from '../../src/recognition/decode-images.ts';
import { openOcr } from '../../src/recognition/ocr.ts';
import { openImageReader } from '../../src/recognition/read-images.ts';
import { drawText } from '../support/draw-text.ts';
import { encodePng } from '../support/encode-image.ts';
import { keepLogs } from '../support/logs.ts';
import { until } from '../support/until.ts';
import { english, korean, large, never, open, read, waves } from './ocr-samples.ts';

/** List our child processes (Linux only). */
function children(): number[] {
  const threads = readdirSync('/proc/self/task');
  return threads.flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number),
  );
}
const isLinux = process.platform === 'linux';

describe('the bounds of reading', () => {
  it('OCR refuses an image that needs more memory than a process may use', async () => {
    const ocr = open({ memoryBytesMax: 128 * 1024 * 1024 });
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
    await expect(read(ocr, large())).rejects.toMatchObject({ code: 'image_unreadable', status: 400 });
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
  }, 60_000);

  it('OCR refuses an image that takes too long, and ends the process', async () => {
    const ocr = open({ imageMs: 1 });
    await expect(read(ocr, encodePng(english))).rejects.toMatchObject({ code: 'image_too_slow', status: 400 });
    if (isLinux) await until(async () => children().length === 0, { what: 'the end of the process' });
  });

  it('OCR returns the result of the first pass if the second one takes too long', async () => {
    const ocr = open({ secondPassMs: 1 });
    expect(await read(ocr, encodePng(waves))).toBe('');
    expect(await read(ocr, encodePng(english))).toBe('HELLO WORLD\nVECTOR SEARCH 2047');
  });

  it('OCR stops when its signal is aborted', async () => {
    const ocr = open();
    const gone = new AbortController();
    const reading = read(ocr, large(), gone.signal);
    gone.abort(new Error('client gone'));
    await expect(reading).rejects.toThrow('client gone');
    await expect(read(ocr, encodePng(english), gone.signal)).rejects.toThrow('client gone');
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
  });

  it('OCR refuses more waiting images than its bound', async () => {
    const ocr = open({ waitingMax: 1 });
    const file = encodePng(english);
    const outcomes = await Promise.allSettled([read(ocr, file), read(ocr, file), read(ocr, file)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(outcomes[2]).toMatchObject({ reason: { code: 'images_overloaded', status: 503, retryable: true } });
  });

  it('OCR reports a recogniser that does not start', async () => {
    const ocr = open({ startMs: 1 });
    await expect(read(ocr, encodePng(english))).rejects.toMatchObject({ code: 'provider_unavailable', status: 502 });
  });

  it('OCR starts no process before the first image', () => {
    const before = isLinux ? children() : [];
    open();
    expect(isLinux ? children() : []).toEqual(before);
  });
});

describe.runIf(isLinux)('OCR processes', () => {
  it('OCR processes end when they are idle, and start again', async () => {
    const ocr = open({ idleMs: 1 });
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
    await until(async () => children().length === 0, { what: 'the end of the process' });
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
  });

  it('an OCR process is reused for the next image', async () => {
    const ocr = open();
    await read(ocr, encodePng(english));
    const before = children();
    await read(ocr, encodePng(korean));
    expect(before).toHaveLength(1);
    expect(children()).toEqual(before);
  });

  it('an OCR process that is killed is replaced, also in the middle of an image', async () => {
    const ocr = open();
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
    for (const pid of children()) process.kill(pid, 'SIGKILL');
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
    const reading = read(ocr, encodePng(drawText(Array<string>(12).fill('HELLO WORLD AGAIN'))));
    for (const pid of children()) process.kill(pid, 'SIGKILL');
    expect(await reading).toContain('HELLO WORLD AGAIN');
  });

  it('OCR processes have no environment, and can read only their own files', async () => {
    const ocr = open();
    await read(ocr, encodePng(english));
    const [pid] = children();
    expect(readFileSync(`/proc/${pid}/environ`, 'latin1').replaceAll(/(?:PWD|SHLVL|_|OLDPWD)=[^\0]*\0/g, '')).toBe('');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    expect(command).toContain('--permission');
    expect(command.filter((part) => /^--allow/.test(part)).every((part) => /^--allow-fs-read=\//.test(part))).toBe(
      true,
    );
  });

  it('OCR processes end with the pool', async () => {
    const ocr = openOcr(keepLogs().logger, { processesMax: 2 });
    const reading = Promise.allSettled([read(ocr, large()), read(ocr, large()), read(ocr, large())]);
    await until(async () => children().length === 2, { what: 'two processes' });
    await ocr.close();
    for (const { status } of await reading) expect(status).toBe('rejected');
    await until(async () => children().length === 0, { what: 'the end of the processes' });
    await expect(read(ocr, encodePng(english))).rejects.toMatchObject({ status: 503 });
  });
});

describe('an image reader without a vision model', () => {
  it('an image reader without a vision model reads several images at a time, in their order', async () => {
    const reader = openImageReader({ vision: null, logger: keepLogs().logger, ocr: { processesMax: 2 } });
    onTestFinished(() => reader.close());
    const files = ['ALPHA 1', '문서 서울', '', 'GAMMA 3', '주차 금지'].map((line) => encodePng(drawText([line])));
    const images = files.map((file) => decodeImage(file.toString('base64')));
    const texts = (await reader.read(images, never)).map(({ text }) => text);
    expect(texts).toEqual(['ALPHA 1', '문서 서울', '', 'GAMMA 3', '주차 금지']);
  });
});
