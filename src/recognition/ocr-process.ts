import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ConfinedProcess, startConfined } from '../platform/confined-process.ts';
import { IMAGE_HEAD_BYTES, type OcrArgument, OcrLine } from './ocr-protocol.ts';

/**
 * `unreadable`: the decoder refused the image. `too_slow`: the deadline passed. `died`: the process ended, out of
 * memory or by a fault of the recogniser. `not_started`: it never got ready.
 */
export type OcrFaultKind = 'unreadable' | 'too_slow' | 'died' | 'not_started';

export class OcrFault extends Error {
  override readonly name = 'OcrFault';
  readonly kind: OcrFaultKind;

  constructor(kind: OcrFaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface OcrProcessLimits {
  /** From the start to `ready`. */
  readonly startMs: number;
  /** Wall clock of one image. */
  readonly imageMs: number;
  /** Wall clock of the second look at an image whose first gave little; past it the first one counts. */
  readonly secondLookMs: number;
  /** Memory of the process, by the kernel's data limit; POSIX only. */
  readonly memoryBytesMax: number;
  readonly textCharsMax: number;
  /** An image larger than this ends the process. */
  readonly imageBytesMax: number;
}

const HEAP_MIB = 128;
const STDERR_CHARS_MAX = 2000;
/** A character is up to six bytes in JSON. */
const JSON_BYTES_PER_CHAR = 6;

/** A draft and what follows it. */
const LINES_AHEAD_MAX = 2;

/**
 * One process that reads text in images, one at a time.
 *
 * It may read its own code, the recogniser and the trained data, and nothing else; write no file, start no process
 * and no thread, and has an empty environment. It ends by itself when this process dies.
 */
export class OcrProcess {
  readonly #child: ConfinedProcess;
  readonly #limits: OcrProcessLimits;
  readonly #lines = new LineReader();
  #stderr = '';
  #residentBytes = 0;
  #cpuSeconds = 0;

  private constructor(child: ConfinedProcess, limits: OcrProcessLimits) {
    this.#child = child;
    this.#limits = limits;
    const lineBytesMax = limits.textCharsMax * JSON_BYTES_PER_CHAR + 4096;
    child.stdout.on('data', (chunk: Buffer) => {
      if (!this.#lines.push(chunk, lineBytesMax)) this.kill();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (this.#stderr.length < STDERR_CHARS_MAX) this.#stderr += text.slice(0, STDERR_CHARS_MAX);
    });
    child.stdin.on('error', () => {}); // It died before it read everything; its exit tells.
    child.on('error', (error) => this.#lines.end(`cannot be started: ${error.message}`));
    child.on('close', (code, signal) => this.#lines.end(`ended (${code ?? signal}) ${this.#stderr}`));
  }

  /** @throws OcrFault `not_started`; the signal's reason once it is aborted */
  static async start(limits: OcrProcessLimits, signal: AbortSignal): Promise<OcrProcess> {
    signal.throwIfAborted();
    const process = new OcrProcess(spawnChild(limits), limits);
    try {
      const line = await process.#next(limits.startMs, signal);
      if (line.type === 'ready') return process;
    } catch (error) {
      if (!(error instanceof OcrFault)) throw error;
      process.kill();
      throw new OcrFault('not_started', error.message);
    }
    process.kill();
    throw new OcrFault('not_started', 'did not keep to its protocol');
  }

  get isAlive(): boolean {
    return !this.#lines.isEnded;
  }

  /** After the last image; memory that the recogniser took is never given back. */
  get residentBytes(): number {
    return this.#residentBytes;
  }

  get cpuSeconds(): number {
    return this.#cpuSeconds;
  }

  /**
   * The text in one image, lines apart; empty where there is none. Any failure but `unreadable` ends the process.
   *
   * @throws OcrFault; the signal's reason once it is aborted
   */
  async recognise(image: Uint8Array, orientation: number, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const head = Buffer.alloc(IMAGE_HEAD_BYTES);
    head.writeUInt32LE(image.length, 0);
    head.writeUInt8(orientation, 4);
    this.#child.stdin.write(head);
    this.#child.stdin.write(image);
    let line = await this.#next(this.#limits.imageMs, signal);
    if (line.type === 'draft') {
      const draft = line.text;
      try {
        line = await this.#next(this.#limits.secondLookMs, signal);
      } catch (error) {
        if (!(error instanceof OcrFault)) throw error;
        return draft;
      }
    }
    if (line.type !== 'read') {
      this.kill();
      throw new OcrFault('died', 'did not keep to its protocol');
    }
    this.#residentBytes = line.residentBytes;
    this.#cpuSeconds = line.cpuSeconds;
    if (line.text === null) throw new OcrFault('unreadable', 'the decoder refused the image');
    return line.text;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    this.#lines.end('was killed');
  }

  /** Its next line. A process that is late, or that nobody waits for, is killed: nothing else can interrupt it. */
  #next(withinMs: number, signal: AbortSignal): Promise<OcrLine> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const giveUp = (reason: unknown) => {
        settle();
        reject(reason);
        this.kill();
      };
      const onAbort = () => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(new OcrFault('too_slow', `no answer within ${withinMs} ms`)), withinMs);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#lines.take((line, reason) => {
        settle();
        const parsed = line === null ? null : parseLine(line);
        if (parsed !== null) return resolve(parsed);
        reject(new OcrFault('died', reason));
        this.kill();
      });
    });
  }
}

/** Lines of a stream for one taker at a time, which gets null once there will be no more. */
class LineReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  readonly #lines: string[] = [];
  #taker: ((line: string | null, reason: string) => void) | null = null;
  #end: string | null = null;

  get isEnded(): boolean {
    return this.#end !== null;
  }

  /** @returns false where a line is longer than it may be */
  push(chunk: Buffer, bytesMax: number): boolean {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.#parts.push(chunk.subarray(from, end));
      this.#lines.push(Buffer.concat(this.#parts).toString('utf8'));
      this.#parts = [];
      this.#bytes = 0;
      from = end + 1;
    }
    this.#parts.push(chunk.subarray(from));
    this.#bytes += chunk.length - from;
    this.#serve();
    return this.#bytes <= bytesMax && this.#lines.length <= LINES_AHEAD_MAX;
  }

  end(reason: string): void {
    this.#end ??= reason;
    this.#serve();
  }

  take(taker: (line: string | null, reason: string) => void): void {
    this.#taker = taker;
    this.#serve();
  }

  #serve(): void {
    const taker = this.#taker;
    if (taker === null || (this.#lines.length === 0 && this.#end === null)) return;
    this.#taker = null;
    taker(this.#lines.shift() ?? null, this.#end ?? 'did not keep to its protocol');
  }
}

/** A process that was taken over by an image could print anything. */
function parseLine(line: string): OcrLine | null {
  try {
    return OcrLine.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

function spawnChild(limits: OcrProcessLimits): ConfinedProcess {
  const { argument, readable } = installation(limits);
  return startConfined({
    ...{ name: 'ocr', module: new URL('./ocr-child.ts', import.meta.url), argument, readable },
    heapMib: HEAP_MIB,
    memoryBytesMax: limits.memoryBytesMax,
    cpuSeconds: OCR_CPU_SECONDS_MAX + 2 * Math.ceil(limits.imageMs / 1000),
  });
}

/** Past this a process must not be given another image. */
export const OCR_CPU_SECONDS_MAX = 300;

/** The smaller of the packaged data sets: half the memory and start-up time, and better spacing of Korean. */
const TRAINED_DATA = '4.0.0_best_int';
/** Wide instructions make a page five times faster. */
const BUILDS = ['relaxedsimd-lstm', 'simd-lstm', 'lstm'];

interface Installation {
  readonly argument: OcrArgument;
  readonly readable: string[];
}

/** Where npm put the recogniser and its data; everything is read from there, nothing from a network. */
function installation({ textCharsMax, imageBytesMax }: OcrProcessLimits): Installation {
  const require = createRequire(import.meta.url);
  const here = path.dirname(fileURLToPath(import.meta.url));
  try {
    const core = path.dirname(require.resolve('tesseract.js-core/package.json'));
    // Korean first: led by English, it is read syllable by syllable, with spaces between them.
    const data = [
      { code: 'kor', folder: path.dirname(require.resolve('@tesseract.js-data/kor/package.json')) },
      { code: 'eng', folder: path.dirname(require.resolve('@tesseract.js-data/eng/package.json')) },
    ];
    return {
      argument: {
        cores: BUILDS.map((build) => path.join(core, `tesseract-core-${build}.js`)),
        languages: data.map(({ code, folder }) => ({
          code,
          path: path.join(folder, TRAINED_DATA, `${code}.traineddata.gz`),
        })),
        imageBytesMax,
        textCharsMax,
      },
      readable: [here, path.join(here, '../../package.json'), core, ...data.map(({ folder }) => folder)],
    };
  } catch (error) {
    throw new OcrFault('not_started', `the packages of the recogniser are not installed: ${String(error)}`);
  }
}
