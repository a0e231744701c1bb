/** Markdown of a given number of characters on which a parser may need quadratic time. */
export const HOSTILE_MARKDOWN: Readonly<Record<string, (chars: number) => string>> = {
  brackets: (n) => '['.repeat(n),
  'open links': (n) => '[a]('.repeat(n / 4),
  emphasis: (n) => '**a'.repeat(n / 3),
  quotes: (n) => '> '.repeat(n / 2),
  'nested lists': (n) => '- '.repeat(n / 2),
  'nested numbers': (n) => '1) '.repeat(n / 3),
  'one row': (n) => `a|b\n-|-\n${'|'.repeat(n)}`,
  'open tags': (n) => '<a '.repeat(n / 3),
  'open scripts': (n) => `<div>\n${'<script '.repeat(n / 8)}`,
  'open comments': (n) => '<!--'.repeat(n / 4),
  'open fences': (n) => '~~~\n'.repeat(n / 4),
  definitions: (n) => '[a]: b\n'.repeat(n / 7),
  blanks: (n) => `a${' '.repeat(n)}b`,
  newlines: (n) => '\n'.repeat(n),
  backslashes: (n) => '\\'.repeat(n),
};
