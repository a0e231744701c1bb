import { AppError } from './errors.ts';
import type { Logger } from './logger.ts';

/** Component that runs until it is stopped. `start` resolves when the component is ready to work. */
export interface Service {
  readonly name: string;
  start(signal: AbortSignal): Promise<void>;
  /** Finish or release the work in progress, then release all resources. Must not throw if called before `start`. */
  stop(): Promise<void>;
}

/** Maximum time from a signal to process exit. It is below the 35 s after which systemd kills the process. */
const EXIT_MS = 24_000;

/** Combine services into one that starts them in order and stops them in parallel. */
export function serviceGroup(name: string, services: readonly Service[]): Service {
  return {
    name,
    async start(signal) {
      for (const service of services) await service.start(signal);
    },
    async stop() {
      const faults = (await Promise.allSettled(services.map((service) => service.stop()))).flatMap((outcome) =>
        outcome.status === 'rejected' ? [outcome.reason] : [],
      );
      if (faults.length > 0) throw faults[0];
    },
  };
}

/**
 * Start services in order, wait for SIGTERM or SIGINT, and stop them in reverse. The process exits at most `exitMs`
 * after the first signal, even if the caller is still closing something. A second signal exits immediately with status
 * 130. The effects of an unhandled rejection are unknown, so log it and exit with 1, and the supervisor restarts the
 * process.
 *
 * No other file handles signals.
 */
export async function runServices(
  services: readonly Service[],
  options: { logger: Logger; onReady?: () => void; exitMs?: number },
): Promise<void> {
  const { logger } = options;
  const abort = new AbortController();
  const stopRequested = new Promise<void>((resolve) => {
    let signals = 0;
    const onSignal = (signal: NodeJS.Signals) => {
      signals++;
      if (signals > 1) process.exit(130);
      logger.info({ signal }, 'received a signal; finishing the work in progress before the process ends');
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
  const onFault = (error: unknown) => {
    logger.fatal({ err: error }, 'an unhandled error ends the process');
    logger.flush();
    process.exit(1);
  };
  process.on('unhandledRejection', onFault);
  process.on('uncaughtException', onFault);

  const started: Service[] = [];
  try {
    for (const service of services) {
      started.push(service);
      await service.start(abort.signal);
    }
    options.onReady?.();
    await stopRequested;
  } finally {
    abort.abort();
    exitWithin(options.exitMs ?? EXIT_MS, logger);
    await stopInReverse(started, logger);
  }
}

/** Exit after a time, unless the process ends by itself before. */
function exitWithin(exitMs: number, logger: Logger): void {
  setTimeout(() => {
    logger.error(
      { exit_ms: exitMs },
      'the process did not stop in time and ends now; unfinished jobs continue elsewhere',
    );
    logger.flush();
    process.exit(1);
  }, exitMs).unref();
}

async function stopInReverse(started: Service[], logger: Logger): Promise<void> {
  for (const service of started.reverse()) {
    try {
      await service.stop();
    } catch (error) {
      logger.error({ err: error, service: service.name }, 'a service failed to stop');
    }
  }
}

/**
 * Run work that ends by itself. The first SIGINT or SIGTERM aborts the signal passed to `work`, and `interrupted`
 * replaces every error that follows. A second signal exits at once with status 130. The signal also aborts when the
 * reader of stdout closes it, as `head` does.
 * @throws AppError `interrupted`, `output_closed` (499)
 */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const onSignal = () => {
    if (abort.signal.aborted) process.exit(130);
    abort.abort(new AppError({ code: 'interrupted', status: 499, message: 'interrupted' }));
  };
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') return;
    abort.abort(new AppError({ code: 'output_closed', status: 499, message: 'the reader of the output left' }));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.stdout.on('error', onOutputError);
  try {
    return await work(abort.signal);
  } catch (error) {
    throw abort.signal.aborted ? abort.signal.reason : error;
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.stdout.off('error', onOutputError);
  }
}
