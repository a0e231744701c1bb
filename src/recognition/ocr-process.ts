import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ConfinedProcess, startConfined } from '../platform/confined-process.ts';
import { WorkWatch } from '../platform/process-work.ts';
import { DRAFTS_MAX, IMAGE_HEAD_BYTES, type OcrArgument, OcrLine } from './ocr-protocol.ts';
import type { Transcription } from './transcriber.ts';

/**
 * Kind of an OCR failure. `unreadable`: the decoder refused the image. `too_slow`: it takes too much CPU time.
 * `stalled`: the host gave the process no CPU time. `died`: the process ran out of memory or crashed. `not_started`:
 * the process never became ready.
 */
export type OcrFaultKind = 'unreadable' | 'too_slow' | 'stalled' | 'died' | 'not_started';

export class OcrFault extends Error {
  override readonly name = 'OcrFault';
  readonly kind: OcrFaultKind;

  constructor(kind: OcrFaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface OcrProcessLimits {
  /** CPU time limit from the start to `ready`. */
  readonly startMs: number;
  /** CPU time limit of one image. */
  readonly imageMs: number;
  /**
   * CPU time limit of each further pass over an image whose first pass found little text. After it, the best result so
   * far is used. The pass over the rotated page may also take twice as long as the first pass. All further passes
   * together may take that time plus twice this limit.
   */
  readonly secondPassMs: number;
  /** Memory limit of the process, set as the kernel's data limit; POSIX only. */
  readonly memoryBytesMax: number;
  readonly textCharsMax: number;
  /** An image larger than this ends the process. */
  readonly imageBytesMax: number;
}

/** Time without progress after which the process counts as hung, however little CPU time it has used. */
const HANG_MS = 120_000;
const HEAP_MIB = 128;
const STDERR_CHARS_MAX = 2000;
/** Maximum bytes of a character in JSON. */
const JSON_BYTES_PER_CHAR = 6;

/** Maximum number of unread lines: drafts and the line that follows them. */
const UNREAD_LINES_MAX = DRAFTS_MAX + 1;

/**
 * Process that reads text in images, one at a time.
 *
 * It can read only its own code, the recogniser and the trained data. It cannot write files or start processes or
 * threads, and its environment is empty. It exits when this process dies.
 */
export class OcrProcess {
  readonly #child: ConfinedProcess;
  readonly #limits: OcrProcessLimits;
  readonly #lines = new LineReader();
  #stderr = '';
  #residentBytes = 0;
  #cpuSeconds = 0;
  /** CPU time up to the last line. */
  #lineMs = 0;

  private constructor(child: ConfinedProcess, limits: OcrProcessLimits) {
    this.#child = child;
    this.#limits = limits;
    child.on('error', (error) => this.#lines.end(`the OCR process cannot be signalled: ${error.message}`));
    const lineBytesMax = limits.textCharsMax * JSON_BYTES_PER_CHAR + 4096;
    child.stdout.on('data', (chunk: Buffer) => {
      if (!this.#lines.push(chunk, lineBytesMax)) this.kill();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (this.#stderr.length < STDERR_CHARS_MAX) this.#stderr += text.slice(0, STDERR_CHARS_MAX);
    });
    child.stdin.on('error', () => {}); // The process died before it read everything; `close` reports it.
    child.on('close', (code, signal) => this.#lines.end(`the OCR process ended (${code ?? signal}) ${this.#stderr}`));
  }

  /** @throws OcrFault `not_started`, `stalled`; the signal's reason once it is aborted */
  static async start(limits: OcrProcessLimits, signal: AbortSignal): Promise<OcrProcess> {
    signal.throwIfAborted();
    const process = new OcrProcess(await spawnChild(limits), limits);
    if (signal.aborted) process.kill();
    signal.throwIfAborted();
    try {
      const line = await process.#next(limits.startMs, signal);
      if (line.type === 'ready') return process;
    } catch (error) {
      if (!(error instanceof OcrFault)) throw error;
      process.kill();
      throw new OcrFault(error.kind === 'stalled' ? 'stalled' : 'not_started', error.message);
    }
    process.kill();
    throw new OcrFault('not_started', 'the OCR process violated its protocol');
  }

  get isAlive(): boolean {
    return !this.#lines.isEnded;
  }

  /** Resident memory after the last image. The recogniser never frees memory. */
  get residentBytes(): number {
    return this.#residentBytes;
  }

  get cpuSeconds(): number {
    return this.#cpuSeconds;
  }

  /**
   * Read the text in one image, separated by lines, and empty without text. Any failure except `unreadable` ends the
   * process.
   *
   * @throws OcrFault; the signal's reason once it is aborted
   */
  async recognise(image: Uint8Array, orientation: number, signal: AbortSignal): Promise<Transcription> {
    signal.throwIfAborted();
    const head = Buffer.alloc(IMAGE_HEAD_BYTES);
    head.writeUInt32LE(image.length, 0);
    head.writeUInt8(orientation, 4);
    this.#child.stdin.write(head);
    this.#child.stdin.write(image);
    const { imageMs, secondPassMs } = this.#limits;
    let line = await this.#next(imageMs, signal);
    let workMs = this.#lineMs;
    const turnedMs = Math.min(2 * workMs, imageMs);
    let leftMs = turnedMs + 2 * secondPassMs;
    for (let drafts = 1; line.type === 'draft' && drafts <= DRAFTS_MAX; drafts++) {
      const { text, confidence, next }: Extract<OcrLine, { type: 'draft' }> = line;
      const passMs = secondPassMs + (next === 'turned' ? turnedMs : 0);
      try {
        line = await this.#next(Math.max(1, Math.min(passMs, leftMs)), signal);
      } catch (error) {
        if (!(error instanceof OcrFault)) throw error;
        return { text, confidence, workMs: workMs + this.#lineMs };
      }
      leftMs -= this.#lineMs;
      workMs += this.#lineMs;
    }
    if (line.type !== 'read') {
      this.kill();
      throw new OcrFault('died', 'the OCR process violated its protocol');
    }
    this.#residentBytes = line.residentBytes;
    this.#cpuSeconds = line.cpuSeconds;
    if (line.text === null) throw new OcrFault('unreadable', 'the decoder refused the image');
    return { text: line.text, confidence: line.confidence, workMs };
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    this.#lines.end('the OCR process was killed');
  }

  /**
   * Read the next line. If it takes more than `cpuMs` of CPU time, or the signal aborts, kill the process, which is the
   * only way to interrupt it.
   */
  #next(cpuMs: number, signal: AbortSignal): Promise<OcrLine> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#lineMs = watch.cpuMs;
        watch.stop();
        signal.removeEventListener('abort', onAbort);
      };
      const giveUp = (reason: unknown) => {
        settle();
        reject(reason);
        this.kill();
      };
      const onAbort = () => giveUp(signal.reason);
      const watch = new WorkWatch(this.#child.pid, { cpuMs, hangMs: HANG_MS }, (over) => {
        const [kind, what] =
          over === 'work'
            ? (['too_slow', `took more than ${cpuMs} ms of processor time`] as const)
            : (['stalled', `made no progress for ${HANG_MS} ms`] as const);
        giveUp(new OcrFault(kind, `the OCR process ${what}`));
      });
      signal.addEventListener('abort', onAbort, { once: true });
      this.#lines.read((line, reason) => {
        settle();
        const parsed = line === null ? null : parseLine(line);
        if (parsed !== null) return resolve(parsed);
        reject(new OcrFault('died', reason));
        this.kill();
      });
    });
  }
}

/** Splits a stream into lines for one reader at a time. The reader gets null at the end of the stream. */
class LineReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  readonly #lines: string[] = [];
  #reader: ((line: string | null, reason: string) => void) | null = null;
  #end: string | null = null;

  get isEnded(): boolean {
    return this.#end !== null;
  }

  /** Append a chunk. @returns false if a line is too long or too many lines are unread */
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
    this.#deliver();
    return this.#bytes <= bytesMax && this.#lines.length <= UNREAD_LINES_MAX;
  }

  end(reason: string): void {
    this.#end ??= reason;
    this.#deliver();
  }

  read(reader: (line: string | null, reason: string) => void): void {
    this.#reader = reader;
    this.#deliver();
  }

  #deliver(): void {
    const reader = this.#reader;
    if (reader === null || (this.#lines.length === 0 && this.#end === null)) return;
    this.#reader = null;
    reader(this.#lines.shift() ?? null, this.#end ?? 'the OCR process violated its protocol');
  }
}

/** Parse a line. Return null if it is invalid, since a malicious image may control the process and print anything. */
function parseLine(line: string): OcrLine | null {
  try {
    return OcrLine.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

async function spawnChild(limits: OcrProcessLimits): Promise<ConfinedProcess> {
  const { argument, readable } = installation(limits);
  try {
    return await startConfined({
      name: 'ocr',
      module: new URL('./ocr-child.ts', import.meta.url),
      argument,
      readable,
      heapMib: HEAP_MIB,
      memoryBytesMax: limits.memoryBytesMax,
      cpuSeconds: OCR_CPU_SECONDS_MAX + 2 * Math.ceil(limits.imageMs / 1000),
    });
  } catch (error) {
    throw new OcrFault('not_started', `the OCR process cannot be started: ${String(error)}`);
  }
}

/** CPU time after which a process gets no further image. */
export const OCR_CPU_SECONDS_MAX = 300;

/** Name of the smaller packaged data set: half the memory and start-up time, and better spacing of Korean. */
const TRAINED_DATA = '4.0.0_best_int';
/** Builds of the recogniser, fastest first. SIMD is five times faster. */
const BUILDS = ['relaxedsimd-lstm', 'simd-lstm', 'lstm'];

interface Installation {
  readonly argument: OcrArgument;
  readonly readable: string[];
}

/** Find the recogniser and its data where npm installed them, without network access. */
function installation({ textCharsMax, imageBytesMax }: OcrProcessLimits): Installation {
  const require = createRequire(import.meta.url);
  const here = path.dirname(fileURLToPath(import.meta.url));
  try {
    const core = path.dirname(require.resolve('tesseract.js-core/package.json'));
    // Korean comes first. After English, it would be read syllable by syllable, with spaces in between.
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
    throw new OcrFault(
      'not_started',
      `the packages for text recognition are not installed; run npm ci: ${String(error)}`,
    );
  }
}
