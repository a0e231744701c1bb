import { decodePercent } from '../../../platform/percent-encoding.ts';

/** Encode the parts of a path. @param isFolder true to add a trailing slash */
export function encodePath(parts: readonly string[], isFolder: boolean): string {
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join('');
  return isFolder ? `${path}/` : path;
}

/** Split the path of an address into percent-encoded parts. Ignore its origin, which may differ behind a proxy. */
export function partsOf(address: string): string[] {
  const path = URL.parse(address, 'http://localhost')?.pathname ?? '';
  return path.split('/').filter((part) => part !== '');
}

/** Compare two paths, ignoring differences in encoding and Unicode normalisation. */
export function isSamePath(one: readonly string[], other: readonly string[]): boolean {
  const normal = (part: string) => decodePercent(part).normalize('NFC');
  return one.length === other.length && one.every((part, at) => normal(part) === normal(other[at] as string));
}
