import { availableParallelism } from 'node:os';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { type DecodedImage, IMAGE_BYTES_MAX } from './decode-images.ts';
import { firstFrameOf } from './first-frame.ts';
import { OCR_CPU_SECONDS_MAX, OcrFault, OcrProcess, type OcrProcessLimits } from './ocr-process.ts';
import { Slots } from './slots.ts';
import type { TiffPage } from './tiff-pages.ts';
import type { Transcriber } from './transcriber.ts';

export interface OcrOptions extends Partial<OcrProcessLimits> {
  /** Processes at a time; each reads one image. */
  readonly processesMax?: number;
  /** An idle process ends after this long. */
  readonly idleMs?: number;
  /** Images that wait for a process. */
  readonly waitingMax?: number;
}

const MIB = 1024 * 1024;
const PROCESSES_MAX = 4;
/** A process that grew past this over a large image is not given another one. */
const RESIDENT_BYTES_KEPT_MAX = 400 * MIB;
/** A process that died over an image may have died of something else, once. */
const TRIES_MAX = 2;

/** A transcriber that takes pages of TIFF files, too. */
export interface Ocr extends Transcriber {
  transcribe(image: DecodedImage | TiffPage, signal: AbortSignal): Promise<string>;
}

/**
 * Optical character recognition of English and Korean, by Tesseract on this machine and without any network.
 * Processes start with the first image and end when they are idle.
 */
export function openOcr(logger: Logger, options: OcrOptions = {}): Ocr {
  return new OcrPool(logger, options);
}

class OcrPool implements Ocr {
  readonly #logger: Logger;
  readonly #limits: OcrProcessLimits;
  readonly #idleMs: number;
  readonly #slots: Slots;
  /** Every process, with the timer that ends it while it is idle. */
  readonly #processes = new Map<OcrProcess, NodeJS.Timeout | null>();
  readonly #closing = new AbortController();

  constructor(logger: Logger, options: OcrOptions) {
    this.#logger = logger;
    this.#limits = {
      startMs: options.startMs ?? 30_000,
      imageMs: options.imageMs ?? 20_000,
      secondLookMs: options.secondLookMs ?? 5_000,
      memoryBytesMax: options.memoryBytesMax ?? 1024 * MIB,
      textCharsMax: options.textCharsMax ?? 100_000,
      imageBytesMax: options.imageBytesMax ?? IMAGE_BYTES_MAX,
    };
    this.#idleMs = options.idleMs ?? 60_000;
    this.#slots = new Slots(options.processesMax ?? Math.min(PROCESSES_MAX, availableParallelism()), {
      waitingMax: options.waitingMax ?? 400,
    });
  }

  async transcribe(image: DecodedImage | TiffPage, signal: AbortSignal): Promise<string> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    try {
      return await this.#slots.run(either, () => this.#read(image, either));
    } catch (error) {
      throw error instanceof OcrFault ? this.#appErrorOf(error) : error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new AppError({ code: 'closing', status: 503, message: 'shutting down', retryable: true }));
    for (const process of this.#processes.keys()) this.#end(process);
  }

  async #read(image: DecodedImage | TiffPage, signal: AbortSignal): Promise<string> {
    const frame = image.format === 'tiff' ? image.bytes : firstFrameOf(image);
    for (let tries = 1; ; tries++) {
      const process = await this.#take(signal);
      try {
        return await process.recognise(frame, image.orientation, signal);
      } catch (error) {
        const isWorthAnother = error instanceof OcrFault && error.kind === 'died' && tries < TRIES_MAX;
        if (!isWorthAnother) throw error;
        this.#logger.warn({ reason: error.message }, 'an OCR process died over an image');
      } finally {
        this.#giveBack(process);
      }
    }
  }

  /** The one that was used last, so that the others can end. */
  async #take(signal: AbortSignal): Promise<OcrProcess> {
    for (const [process, idleTimer] of [...this.#processes].reverse()) {
      if (idleTimer === null) continue;
      clearTimeout(idleTimer);
      this.#processes.delete(process);
      if (!process.isAlive) continue;
      this.#processes.set(process, null);
      return process;
    }
    const process = await OcrProcess.start(this.#limits, signal);
    this.#processes.set(process, null);
    return process;
  }

  #giveBack(process: OcrProcess): void {
    const isSpent =
      !process.isAlive ||
      process.residentBytes > RESIDENT_BYTES_KEPT_MAX ||
      process.cpuSeconds > OCR_CPU_SECONDS_MAX ||
      this.#closing.signal.aborted;
    if (isSpent) {
      this.#end(process);
      return;
    }
    // To the end of the map: the last used comes first.
    this.#processes.delete(process);
    this.#processes.set(
      process,
      setTimeout(() => this.#end(process), this.#idleMs),
    );
  }

  #end(process: OcrProcess): void {
    clearTimeout(this.#processes.get(process) ?? undefined);
    this.#processes.delete(process);
    process.kill();
  }

  #appErrorOf(fault: OcrFault): AppError {
    switch (fault.kind) {
      case 'unreadable':
      case 'died':
        return new AppError({
          code: 'image_unreadable',
          status: 400,
          message: 'cannot be read: the file is damaged, or needs too much memory',
          cause: fault,
        });
      case 'too_slow':
        return new AppError({
          code: 'image_too_slow',
          status: 400,
          message: `cannot be read within ${this.#limits.imageMs / 1000} s; send a smaller image`,
          cause: fault,
        });
      case 'not_started':
        this.#logger.error({ reason: fault.message }, 'the OCR process does not start');
        return new AppError({
          code: 'provider_unavailable',
          status: 502,
          message: 'text recognition is not available on this server',
          retryable: true,
          cause: fault,
        });
    }
  }
}
