import { availableParallelism } from 'node:os';
import { AppError, tryLater } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { type DecodedImage, IMAGE_BYTES_MAX } from './decode-images.ts';
import { firstFrameOf } from './first-frame.ts';
import { OCR_CPU_SECONDS_MAX, OcrFault, OcrProcess, type OcrProcessLimits } from './ocr-process.ts';
import { Slots } from './slots.ts';
import type { TiffPage } from './tiff-pages.ts';
import type { Transcriber, Transcription } from './transcriber.ts';

export interface OcrOptions extends Partial<OcrProcessLimits> {
  /** Maximum number of processes. Each reads one image at a time. */
  readonly processesMax?: number;
  /** Time after which an idle process ends. */
  readonly idleMs?: number;
  /** Maximum number of images that wait for a process. */
  readonly waitingMax?: number;
}

const MIB = 1024 * 1024;
const PROCESSES_MAX = 4;
/** Resident memory above which a process gets no more images. */
const RESIDENT_BYTES_KEPT_MAX = 400 * MIB;
/** Maximum attempts to read an image, since something else may have killed the process. */
const ATTEMPTS_MAX = 2;

/** Transcriber that also reads pages of TIFF files. */
export interface Ocr extends Transcriber {
  transcribe(image: DecodedImage | TiffPage, signal: AbortSignal): Promise<Transcription>;
}

/**
 * Open optical character recognition of English and Korean by Tesseract, on this host without a network. Processes
 * start with the first image and end when idle.
 */
export function openOcr(logger: Logger, options: OcrOptions = {}): Ocr {
  return new OcrPool(logger, options);
}

class OcrPool implements Ocr {
  readonly #logger: Logger;
  readonly #limits: OcrProcessLimits;
  readonly #idleMs: number;
  readonly #slots: Slots;
  /** All processes, each with the timer that ends it if idle. */
  readonly #processes = new Map<OcrProcess, NodeJS.Timeout | null>();
  readonly #closing = new AbortController();

  constructor(logger: Logger, options: OcrOptions) {
    this.#logger = logger;
    this.#limits = {
      startMs: options.startMs ?? 30_000,
      imageMs: options.imageMs ?? 20_000,
      secondPassMs: options.secondPassMs ?? 5_000,
      memoryBytesMax: options.memoryBytesMax ?? 1024 * MIB,
      textCharsMax: options.textCharsMax ?? 100_000,
      imageBytesMax: options.imageBytesMax ?? IMAGE_BYTES_MAX,
    };
    this.#idleMs = options.idleMs ?? 60_000;
    this.#slots = new Slots(options.processesMax ?? Math.min(PROCESSES_MAX, availableParallelism()), {
      waitingMax: options.waitingMax ?? 400,
    });
  }

  async transcribe(image: DecodedImage | TiffPage, signal: AbortSignal): Promise<Transcription> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    try {
      return await this.#slots.run(either, () => this.#read(image, either));
    } catch (error) {
      throw error instanceof OcrFault ? this.#appErrorOf(error) : error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(tryLater('the service is shutting down; try again', 'closing'));
    for (const process of this.#processes.keys()) this.#end(process);
  }

  async #read(image: DecodedImage | TiffPage, signal: AbortSignal): Promise<Transcription> {
    const frame = image.format === 'tiff' ? image.bytes : firstFrameOf(image);
    for (let attempt = 1; ; attempt++) {
      const process = await this.#acquire(signal);
      try {
        return await process.recognise(frame, image.orientation, signal);
      } catch (error) {
        const isRetryable = error instanceof OcrFault && error.kind === 'died' && attempt < ATTEMPTS_MAX;
        if (!isRetryable) throw error;
        this.#logger.warn(
          { reason: error.message },
          'an OCR process ended while it read an image; the image is read again by another process',
        );
      } finally {
        this.#release(process);
      }
    }
  }

  /** Get the most recently used idle process, so that the others can end, or start one. */
  async #acquire(signal: AbortSignal): Promise<OcrProcess> {
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

  #release(process: OcrProcess): void {
    const mustEnd =
      !process.isAlive ||
      process.residentBytes > RESIDENT_BYTES_KEPT_MAX ||
      process.cpuSeconds > OCR_CPU_SECONDS_MAX ||
      this.#closing.signal.aborted;
    if (mustEnd) {
      this.#end(process);
      return;
    }
    // Move it to the end of the map, since `#acquire` prefers the last one.
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
          message: 'cannot be read: the file is damaged or needs too much memory; send another image',
          cause: fault,
        });
      case 'too_slow':
        return new AppError({
          code: 'image_too_slow',
          status: 400,
          message: `takes more than ${this.#limits.imageMs / 1000} s of processor time; send a smaller image`,
          cause: fault,
        });
      case 'stalled':
        return tryLater('the host is too busy to read images now; try again later', 'images_overloaded', {
          cause: fault,
        });
      case 'not_started':
        this.#logger.error(
          { reason: fault.message },
          'the OCR process cannot be started; images are not read until it can',
        );
        return new AppError({
          code: 'provider_unavailable',
          status: 502,
          message: 'text recognition is not available on this server; ask the operator',
          retryable: true,
          cause: fault,
        });
    }
  }
}
