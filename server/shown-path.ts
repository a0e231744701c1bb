const PATH_CHARS_MAX = 200;
/** Part of a path that is as long as a secret. The secret of a Kakao skill has at least 24 characters. */
const LONG_PARTS = /[^/]{24,}/g;

/** Shorten a path that no route matches. It may be a mistyped address with a secret, so replace long parts. */
export function shownPath(path: string): string {
  const shown = path.replace(LONG_PARTS, '…');
  return shown.length > PATH_CHARS_MAX ? `${shown.slice(0, PATH_CHARS_MAX)}…` : shown;
}
