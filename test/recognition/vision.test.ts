import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { VisionSettings } from '../../src/platform/provider-settings.ts';
import { Secret } from '../../src/platform/secret.ts';
import { type DecodedImage, decodeImage } from '../../src/recognition/decode-images.ts';
import { openImageReader } from '../../src/recognition/read-images.ts';
import type { Transcriber } from '../../src/recognition/transcriber.ts';
import { openVision } from '../../src/recognition/vision.ts';
import { drawText } from '../support/draw-text.ts';
import { encodeAnimatedWebp, encodeGif, encodePng, encodeWebp, pngOf } from '../support/encode-image.ts';
import { bodyOf, FakeVision, respond, type VisionAnswer } from '../support/fake-vision.ts';
import { keepLogs } from '../support/logs.ts';

const PROTOCOLS = ['openai', 'gemini', 'ollama'] as const;
type Protocol = (typeof PROTOCOLS)[number];

const never = new AbortController().signal;
const CANARY = 'canary-7f3a91-secret';
const bitmap = drawText(['A'], { letterPx: 20, marginPx: 4 });
const png = imageOf(encodePng(bitmap));

function imageOf(file: Buffer): DecodedImage {
  return decodeImage(file.toString('base64'));
}

/** Create images that are identified by their width. */
function numbered(index: number): DecodedImage {
  return imageOf(pngOf(index + 1, 1, 0, Buffer.alloc(1)));
}

let fake: FakeVision;
beforeEach(async () => {
  fake = await FakeVision.start();
});
afterEach(async () => {
  await fake.close();
  expect(fake.violations).toEqual([]);
});

function settingsOf(protocol: Protocol, fields: Partial<VisionSettings> = {}): VisionSettings {
  return {
    ...{ protocol, baseUrl: fake.baseUrl(protocol), apiKey: new Secret(CANARY), model: 'see-1' },
    ...{ timeoutMs: 10_000, concurrencyMax: 4, ...fields },
  };
}

function open(protocol: Protocol, fields: Partial<VisionSettings> = {}): Transcriber {
  const vision = openVision(settingsOf(protocol, fields), keepLogs().logger, { retry: { baseMs: 1, capMs: 1 } });
  onTestFinished(() => vision.close());
  return vision;
}

describe.each(PROTOCOLS)('reading images by a vision model over %s', (protocol) => {
  it('a request has the image, the prompt and only fields of the protocol', async () => {
    fake.answer = () => 'HELLO\nA letter on white.';
    expect((await open(protocol).transcribe(png, never)).text).toBe('HELLO\nA letter on white.');
    expect(fake.calls).toHaveLength(1);
    const [call] = fake.calls;
    expect(call).toMatchObject({ protocol, model: 'see-1', apiKey: CANARY });
    expect(call?.prompt).toMatch(/^Transcribe all text/);
    expect(call?.image.equals(png.bytes)).toBe(true);
    expect(call?.mimeType).toBe(protocol === 'ollama' ? null : 'image/png');
  });

  it('a request has no credential if none is configured', async () => {
    await open(protocol, { apiKey: null }).transcribe(png, never);
    expect(fake.calls[0]?.apiKey).toBeNull();
  });

  it('the first frame of an animation is sent', async () => {
    const vision = open(protocol);
    await vision.transcribe(imageOf(encodeAnimatedWebp([bitmap, bitmap])), never);
    await vision.transcribe(imageOf(encodeGif([bitmap, bitmap])), never);
    expect(fake.calls[0]?.image.equals(encodeWebp(bitmap))).toBe(true);
    const still = fake.calls[1]?.image ?? Buffer.alloc(0);
    expect(decodeImage(still.toString('base64'))).toMatchObject({ format: 'gif' });
    expect(still.length).toBeLessThan(encodeGif([bitmap, bitmap]).length / 1.5);
  });

  it('an image of 10 MB is read', async () => {
    const large = imageOf(Buffer.concat([encodePng(bitmap), Buffer.alloc(10_000_000)]));
    await open(protocol).transcribe(large, never);
    expect(fake.calls[0]?.image.equals(large.bytes)).toBe(true);
  });

  it.each([429, 500, 503])('a call is tried again after status %i', async (status) => {
    fake.answer = (_call, index) => (index < 2 ? { take: (response) => respond(response, status, {}) } : 'third time');
    expect((await open(protocol).transcribe(png, never)).text).toBe('third time');
    expect(fake.calls).toHaveLength(3);
  });

  it('a call is tried three times and no more', async () => {
    fake.answer = () => ({ take: (response) => respond(response, 503, {}) });
    await expect(open(protocol).transcribe(png, never)).rejects.toMatchObject({
      ...{ code: 'provider_unavailable', status: 502, details: { provider: 'vision', cause: 'http_503' } },
    });
    expect(fake.calls).toHaveLength(3);
  });

  it.each([401, 402, 403, 404])('status %i is not retried and is no fault of the image', async (status) => {
    fake.answer = () => ({ take: (response) => respond(response, status, { error: { message: `key ${CANARY}` } }) });
    await expect(open(protocol).transcribe(png, never)).rejects.toMatchObject({
      ...{ code: 'provider_unavailable', status: 502 },
    });
    expect(fake.calls).toHaveLength(1);
  });

  it.each([400, 413, 422])('status %i is a fault of the image', async (status) => {
    fake.answer = () => ({ take: (response) => respond(response, status, { error: { message: 'bad image' } }) });
    await expect(open(protocol).transcribe(png, never)).rejects.toMatchObject({
      ...{ code: 'upstream_rejected', status: 400 },
    });
    expect(fake.calls).toHaveLength(1);
  });

  const faults: [string, VisionAnswer][] = [
    ['HTML', { take: (response) => response.writeHead(200).end('<html>proxy login</html>') }],
    ['nothing', { take: (response) => response.writeHead(200).end() }],
    ['JSON of another shape', { take: (response) => respond(response, 200, { result: 'text' }) }],
    ['a list', { take: (response) => respond(response, 200, [1, 2]) }],
    [
      'half an answer',
      { take: (response, call) => respond(response, 200, JSON.stringify(bodyOf(call.protocol, 'x')).slice(0, -9)) },
    ],
    ['a reset', { take: (response) => response.socket?.resetAndDestroy() }],
    ['a gigabyte', { take: (response) => respond(response, 200, '', { 'content-length': 1e9 }) }],
  ];
  it.each(faults)('a faulty answer (%s) gives a typed error after bounded attempts', async (_name, answer) => {
    fake.answer = () => answer;
    await expect(open(protocol).transcribe(png, never)).rejects.toMatchObject({
      ...{ code: 'provider_unavailable', status: 502 },
    });
    expect(fake.calls).toHaveLength(3);
  });

  it('an endless answer is aborted', async () => {
    fake.answer = () => ({
      take(response) {
        response.writeHead(200);
        const more = () => {
          if (!response.destroyed && response.write('x'.repeat(65_536))) setImmediate(more);
        };
        response.on('drain', more);
        more();
      },
    });
    await expect(open(protocol).transcribe(png, never)).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('a model that does not answer runs into the timeout', async () => {
    fake.answer = () => ({ take: () => {} });
    await expect(open(protocol, { timeoutMs: 50 }).transcribe(png, never)).rejects.toMatchObject({
      ...{ code: 'provider_unavailable', details: { cause: 'timeout' } },
    });
  });

  it('a call is aborted with the signal of the caller', async () => {
    const gone = new AbortController();
    fake.answer = () => {
      gone.abort(new Error('client gone'));
      return { take: () => {} };
    };
    await expect(open(protocol).transcribe(png, gone.signal)).rejects.toThrow('client gone');
    expect(fake.calls).toHaveLength(1);
  });

  it('no more calls than configured run at a time, and the order is kept', async () => {
    const reader = openImageReader({ vision: settingsOf(protocol, { concurrencyMax: 3 }), logger: keepLogs().logger });
    onTestFinished(() => reader.close());
    const held: (() => void)[] = [];
    fake.answer = async ({ image }) => {
      // Three calls wait for each other and are answered in reverse order.
      await new Promise<void>((resolve) => {
        held.push(resolve);
        if (held.length === 3) for (const release of held.splice(0).toReversed()) release();
      });
      return `width ${image.readUInt32BE(16)}`;
    };
    const images = Array.from({ length: 9 }, (_, index) => numbered(index));
    const texts = (await reader.read(images, never)).map(({ text }) => text);
    expect(texts).toEqual(images.map(({ width }) => `width ${width}`));
    expect(fake.concurrencySeen).toBe(3);
  });

  it('the key of the vision model is never shown', async () => {
    const { logger, lines } = keepLogs();
    const vision = openVision(settingsOf(protocol), logger, { retry: { baseMs: 1, capMs: 1 } });
    onTestFinished(() => vision.close());
    const shown: unknown[] = [vision];
    for (const status of [400, 401, 500, 500]) {
      fake.answer = () => ({ take: (response) => respond(response, status, { error: { message: `bad ${CANARY}` } }) });
      shown.push(await vision.transcribe(png, never).catch((error) => error));
    }
    expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain(CANARY);
    expect(JSON.stringify(lines)).not.toContain(CANARY);
  });
});

describe('reading images by a vision model', () => {
  it('optional fields that a model refuses are left out afterwards, also while several images are in progress', async () => {
    const unknown = (param: string): VisionAnswer => ({
      take: (response) =>
        respond(response, 400, { error: { message: `no ${param}`, param, code: 'unsupported_parameter' } }),
    });
    fake.answer = ({ body }) => {
      if (Object.hasOwn(body as object, 'max_tokens')) return unknown('max_tokens');
      if (Object.hasOwn(body as object, 'temperature')) return unknown('temperature');
      return 'seen';
    };
    const vision = open('openai');
    expect(await Promise.all([0, 1, 2, 3].map((index) => vision.transcribe(numbered(index), never)))).toEqual(
      Array(4).fill({ text: 'seen', confidence: null }),
    );
    const before = fake.calls.length;
    expect((await vision.transcribe(png, never)).text).toBe('seen');
    expect(fake.calls).toHaveLength(before + 1);
    expect(fake.calls.at(-1)?.body).toHaveProperty('max_completion_tokens');
  });

  it('a model that refuses every field is not retried endlessly', async () => {
    fake.answer = () => ({
      take: (response) => respond(response, 400, { error: { message: 'no', param: 'temperature' } }),
    });
    await expect(open('openai').transcribe(png, never)).rejects.toMatchObject({ code: 'upstream_rejected' });
    expect(fake.calls).toHaveLength(2);
  });

  it('the error names the image that the model refuses', async () => {
    const reader = openImageReader({ vision: settingsOf('gemini'), logger: keepLogs().logger });
    onTestFinished(() => reader.close());
    fake.answer = ({ image }) =>
      image.readUInt32BE(16) === 3
        ? { take: (response) => respond(response, 200, { promptFeedback: { blockReason: 'SAFETY' } }) }
        : 'seen';
    await expect(reader.read([0, 1, 2].map(numbered), never)).rejects.toMatchObject({
      ...{ code: 'upstream_rejected', status: 400, param: 'images[2]' },
    });
  });

  it('the thoughts of a model are left out of the text', async () => {
    const parts = [{ text: 'Let me see.', thought: true }, { text: 'HELLO ' }, { text: 'WORLD' }];
    fake.answer = () => ({ take: (response) => respond(response, 200, { candidates: [{ content: { parts } }] }) });
    expect((await open('gemini').transcribe(png, never)).text).toBe('HELLO WORLD');
  });

  it('an answer in parts and a refusal are read', async () => {
    const vision = open('openai');
    const say = (message: object): void => {
      fake.answer = () => ({ take: (response) => respond(response, 200, { choices: [{ message }] }) });
    };
    say({
      content: [
        { type: 'text', text: 'HELLO ' },
        { type: 'text', text: 'WORLD' },
      ],
    });
    expect((await vision.transcribe(png, never)).text).toBe('HELLO WORLD');
    say({ content: null, refusal: 'I cannot help with that.' });
    await expect(vision.transcribe(png, never)).rejects.toMatchObject({ code: 'upstream_rejected', status: 400 });
  });

  it('a model that fails repeatedly is not called for a while', async () => {
    fake.answer = () => ({ take: (response) => respond(response, 500, {}) });
    const vision = open('ollama');
    await vision.transcribe(png, never).catch(() => {});
    await vision.transcribe(png, never).catch(() => {});
    const before = fake.calls.length;
    await expect(vision.transcribe(png, never)).rejects.toMatchObject({ details: { cause: 'breaker_open' } });
    expect(fake.calls).toHaveLength(before);
  });

  it('closing aborts the calls in progress', async () => {
    const asked = Promise.withResolvers<void>();
    fake.answer = () => {
      asked.resolve();
      return { take: () => {} };
    };
    const vision = open('openai');
    const reading = vision.transcribe(png, never);
    reading.catch(() => {});
    await asked.promise;
    await vision.close();
    await expect(reading).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});
