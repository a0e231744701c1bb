import { AppError } from '../platform/errors.ts';

/** Exit codes, stable for scripts. Shells expect 130 if Ctrl-C ends a command. */
export const EXIT = { done: 0, fault: 1, usage: 2, notFound: 3, refused: 4, dependency: 5, interrupted: 130 } as const;

export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
}

/** Map a thrown value to an exit code and a message that is safe to print. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof AppError) {
    return { exitCode: exitCodeOf(error), code: error.code, message: withoutHelpHint(error.message) };
  }
  // Errors of oclif's parser carry their own exit code.
  const { oclif, message = 'wrong usage' } = error as { oclif?: { exit?: number }; message?: string };
  if (oclif?.exit !== undefined) return { exitCode: oclif.exit, code: 'usage', message: withoutHelpHint(message) };
  return { exitCode: EXIT.fault, code: 'internal', message: error instanceof Error ? error.message : String(error) };
}

/** Remove oclif's reference to the help, which `printFailure` prints itself. */
export function withoutHelpHint(message: string): string {
  return message
    .replace(/\nSee more help with --help$/, '')
    .replace(/^Parsing (--\S+) \n\t/, '$1: ')
    .trimEnd();
}

const USAGE_STATUSES = new Set([400, 413, 415, 422]);

/** Codes of faults that an operator can fix, and of states that forbid the operation. */
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
