/** Pictures embedded in their URL (RFC 2397). */
const INLINE = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,/i;

/** Return the bytes of a picture embedded in its URL, or null for any other URL. */
export function inlinePicture(address: string): Uint8Array | null {
  const [start] = INLINE.exec(address) ?? [];
  if (start === undefined) return null;
  const digits = address.slice(start.length).replace(/%(2[BbFf]|3[Dd])/g, (code) => decodeURIComponent(code));
  return Buffer.from(digits, 'base64');
}
