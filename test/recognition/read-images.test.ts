import { describe, expect, it } from 'vitest';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { type DecodedImage, decodeImage } from '../../src/recognition/decode-images.ts';
import { readerOf } from '../../src/recognition/read-images.ts';
import type { Transcriber } from '../../src/recognition/transcriber.ts';
import { pngOf } from '../support/encode-image.ts';

const never = new AbortController().signal;

/** Create images that are identified by their width. */
function images(count: number): DecodedImage[] {
  return Array.from({ length: count }, (_, index) =>
    decodeImage(pngOf(index + 1, 1, 0, Buffer.alloc(1)).toString('base64')),
  );
}

function transcriberOf(transcribe: (index: number, signal: AbortSignal) => Promise<string>): Transcriber {
  return {
    transcribe: async (image, signal) => ({ text: await transcribe(image.width - 1, signal), confidence: null }),
    close: async () => {},
  };
}

async function textOf(found: string): Promise<string> {
  const [read] = await readerOf(transcriberOf(async () => found)).read(images(1), never);
  return read?.text ?? 'nothing came back';
}

describe('an image reader', () => {
  it('texts are in the order of the images, whichever image is read first', async () => {
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const reader = readerOf(
      transcriberOf(async (index) => {
        await gates[index]?.promise;
        return `text ${index}`;
      }),
    );
    const reading = reader.read(images(4), never);
    for (const gate of gates.toReversed()) gate.resolve();
    expect(await reading).toEqual([{ text: 'text 0' }, { text: 'text 1' }, { text: 'text 2' }, { text: 'text 3' }]);
  });

  it('the text of an image has collapsed white space, composed characters and no invisible ones', async () => {
    expect(await textOf('  A\n\n B\t\u00a0C\u0000D\u200b \n')).toBe('A B C D');
    expect(await textOf('한국'.normalize('NFD'))).toBe('한국');
    expect(await textOf('lone \ud800 surrogate')).toBe('lone surrogate');
    expect(await textOf(' \n\t\u0000\u200b ')).toBe('');
  });

  it('the text of an image is cut at 20,000 characters, and no character is split', async () => {
    expect(await textOf('a'.repeat(50_000))).toHaveLength(20_000);
    const cut = await textOf(`a${'😀'.repeat(15_000)}`);
    expect(cut).toHaveLength(19_999);
    expect(cut.isWellFormed()).toBe(true);
  });

  it('the error names the faulty image, and the others are aborted', async () => {
    const given: number[] = [];
    const reader = readerOf(
      transcriberOf(async (index, signal) => {
        if (index === 2) throw invalidRequest('cannot be read', null, 'image_unreadable');
        await new Promise<void>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            given.push(index);
            reject(signal.reason);
          });
        });
        return '';
      }),
    );
    await expect(reader.read(images(4), never)).rejects.toMatchObject({
      code: 'image_unreadable',
      status: 400,
      param: 'images[2]',
      message: 'images[2]: cannot be read',
    });
    expect(given).toEqual([0, 1, 3]);
  });

  it('an error that no image caused is rethrown unchanged', async () => {
    const down = new AppError({ code: 'provider_unavailable', status: 502, message: 'down', retryable: true });
    const reader = readerOf(transcriberOf(() => Promise.reject(down)));
    await expect(reader.read(images(3), never)).rejects.toBe(down);
  });

  it('an image reader stops when the signal of the caller is aborted', async () => {
    const gone = new AbortController();
    const reader = readerOf(
      transcriberOf(
        (_index, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    );
    const reading = reader.read(images(3), gone.signal);
    gone.abort(new Error('client gone'));
    await expect(reading).rejects.toThrow('client gone');
  });
});
