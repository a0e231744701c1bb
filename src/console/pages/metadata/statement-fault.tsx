import { t } from '../../lib/i18n.ts';

const PLACE = /^line (\d+), column (\d+): /;

/** Return the offset of a parser error in a statement, or null for another error. Columns count code points. */
export function offsetOf(message: string, statement: string): number | null {
  const [, line, column] = PLACE.exec(message) ?? [];
  if (line === undefined || column === undefined) return null;
  const lines = statement.split('\n');
  const before = lines.slice(0, Number(line) - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return (
    before +
    Array.from(lines[Number(line) - 1] ?? '')
      .slice(0, Number(column) - 1)
      .join('').length
  );
}

/** Fault of a statement, with a mark below its position. */
export function StatementFault({ message, statement }: { message: string; statement: string }) {
  const [place = '', line = '1', column = '1'] = PLACE.exec(message) ?? [];
  const text = statement.split('\n')[Number(line) - 1] ?? '';
  return (
    <div class="statement-fault stack tight" role="alert">
      <strong>{t('Line {line}, column {column}', { line: Number(line), column: Number(column) })}</strong>
      <pre aria-hidden="true">
        {text}
        {'\n'}
        <span class="caret">{' '.repeat(Math.max(0, Number(column) - 1))}^</span>
      </pre>
      <span>{message.slice(place.length)}</span>
    </div>
  );
}
