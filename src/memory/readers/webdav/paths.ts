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

/** Decode a part of a path. Return null if its bytes aren't UTF-8. */
export function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Compare two paths, ignoring differences in encoding and Unicode normalisation. */
export function isSamePath(one: readonly string[], other: readonly string[]): boolean {
  const normal = (part: string) => (decodePart(part) ?? part).normalize('NFC');
  return one.length === other.length && one.every((part, at) => normal(part) === normal(other[at] as string));
}
