import { AppError } from '../platform/errors.ts';

/** What a script may rely on. 130 is what shells expect of a command that Ctrl-C ended. */
export const EXIT = { done: 0, fault: 1, usage: 2, notFound: 3, refused: 4, dependency: 5, interrupted: 130 } as const;

export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
}

/** The exit code and the safe words for whatever a command threw. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof AppError) {
    return { exitCode: exitCodeOf(error), code: error.code, message: withoutHelpHint(error.message) };
  }
  // What oclif throws while parsing carries its own exit code.
  const { oclif, message = 'wrong usage' } = error as { oclif?: { exit?: number }; message?: string };
  if (oclif?.exit !== undefined) return { exitCode: oclif.exit, code: 'usage', message: withoutHelpHint(message) };
  return { exitCode: EXIT.fault, code: 'internal', message: error instanceof Error ? error.message : String(error) };
}

/** We say ourselves, and once, where the help is. */
function withoutHelpHint(message: string): string {
  return message
    .replace(/\nSee more help with --help$/, '')
    .replace(/^Parsing (--\S+) \n\t/, '$1: ')
    .trimEnd();
}

const USAGE_STATUSES = new Set([400, 413, 415, 422]);

/** Faults of the moment or of the machine that an operator can end, and states that forbid what was asked for. */
const REFUSED_CODES = new Set(['cannot_listen', 'job_in_progress', 'job_not_terminal', 'job_kind_unknown']);

function exitCodeOf(error: AppError): number {
  if (error.code === 'interrupted') return EXIT.interrupted;
  if (REFUSED_CODES.has(error.code)) return EXIT.refused;
  if (error.code === 'config_invalid' || USAGE_STATUSES.has(error.status)) return EXIT.usage;
  if (error.status === 404) return EXIT.notFound;
  if (error.status >= 502) return EXIT.dependency;
  if (error.status >= 401 && error.status < 500) return EXIT.refused;
  return EXIT.fault;
}
