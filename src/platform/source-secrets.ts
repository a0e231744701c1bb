import path from 'node:path';
import { z } from 'zod';
import { Secret } from './secret.ts';

/** Token or key of printable ASCII. */
export const tokenSetting = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));

/** Absolute path of a file or folder on this host. */
export const absolutePath = z.string().refine((file) => path.isAbsolute(file), 'must be an absolute path');

/** Password of a connection. It may contain spaces, as some vendors' app passwords do. */
export const passwordSetting = z
  .string()
  .min(1)
  .max(8192)
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), 'must not have control characters')
  .transform((value) => new Secret(value));

/** Certificates of a private CA, as PEM text or as the path of a PEM file. */
export const caSetting = z
  .string()
  .min(1)
  .max(256 * 1024)
  .refine((ca) => isPem(ca) || path.isAbsolute(ca), 'must be the text of a PEM file, or the absolute path of one')
  .optional()
  .describe('certificates to trust instead of the public ones: PEM text, or the path of a PEM file');

/** Return true for PEM text (RFC 7468). */
export function isPem(ca: string): boolean {
  return ca.includes('-----BEGIN CERTIFICATE-----');
}
