/** Encode the parts of a path. @param isFolder adds the slash at the end that folders have */
export function encodePath(parts: readonly string[], isFolder: boolean): string {
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join('');
  return isFolder ? `${path}/` : path;
}

/**
 * Return the parts of the path of an address, percent-encoded. The origin of the address is ignored, since servers
 * behind a proxy may give another one.
 */
export function partsOf(address: string): string[] {
  const path = URL.parse(address, 'http://localhost')?.pathname ?? '';
  return path.split('/').filter((part) => part !== '');
}

/** Decode a part of a path; null if its bytes are not UTF-8. */
export function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Compare two paths, whose parts may be encoded in different ways, or have another Unicode form. */
export function isSamePath(one: readonly string[], other: readonly string[]): boolean {
  const normal = (part: string) => (decodePart(part) ?? part).normalize('NFC');
  return one.length === other.length && one.every((part, at) => normal(part) === normal(other[at] as string));
}
