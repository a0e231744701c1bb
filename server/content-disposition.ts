/**
 * Render `Content-Disposition: attachment` with a file name (RFC 6266): `filename` in ASCII for every client, and
 * `filename*` in UTF-8 (RFC 8187) if clients may misread the ASCII form. For any name, the value consists of visible
 * ASCII: control characters, quotes, backslashes and path separators are replaced.
 */
export function attachment(fileName: string): string {
  const name = [...fileName.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}/\\]/gu, '_')]
    .slice(0, NAME_CHARACTERS_MAX)
    .join('');
  const plain = name.replace(/["\u007f]/g, '_').replace(/[^\x20-\x7e]/gu, '_');
  // Some clients decode %41 in a plain name, so also send such a name as `filename*`.
  const isExact = plain === name && !/%[0-9A-Fa-f]{2}/.test(name);
  return `attachment; filename="${plain}"${isExact ? '' : `; filename*=UTF-8''${encodeExtended(name)}`}`;
}

const NAME_CHARACTERS_MAX = 255;

/** Percent-encode all characters except `attr-char` of RFC 8187. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
