import { Args, Flags } from '@oclif/core';
import type { DocumentView } from '../documents/schema.ts';
import { invalidRequest } from '../platform/errors.ts';

/** Argument and flag of commands that work on some documents of a bucket. */
export const documentArg = Args.string({
  description: 'id, path or file name of a document; several may be given',
  multiple: true,
  ignoreStdin: true,
});
export const whereFlag = Flags.string({
  description: `documents for which this condition of the statement language is true, such as "file_type = 'pdf'"`,
});

/** Documents selected by a command, individually or by a condition. */
interface Selection {
  readonly bucket: string;
  readonly names: readonly string[] | undefined;
  readonly where: string | undefined;
}

/**
 * Check that a command selects documents either individually or by a condition.
 * @throws AppError `invalid_request` (400)
 */
export function selectionOf(
  args: { readonly document?: readonly string[] | string | undefined },
  flags: { readonly bucket: string; readonly where?: string | undefined },
): Selection {
  const names = args.document === undefined ? undefined : [args.document].flat();
  if (names === undefined && flags.where === undefined) {
    throw invalidRequest('name a document by its id, path or file name, or several by --where', 'document');
  }
  if (names !== undefined && flags.where !== undefined) {
    throw invalidRequest('give documents or --where, not both', 'where');
  }
  return { bucket: flags.bucket, names, where: flags.where };
}

/** Selection fields as users type them. */
export const SELECTION_NAMES = { names: 'DOCUMENT' };

/** Describe documents briefly: by name if there is one, otherwise by their number. */
export function describeDocuments(documents: readonly DocumentView[]): string {
  const [first] = documents;
  if (documents.length !== 1 || first === undefined) return `${documents.length} documents`;
  return `${first.source_path ?? first.file_name} (${first.id})`;
}
