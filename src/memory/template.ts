/** Maximum number of uses of one column in a template, which keeps the text not much larger than the row. */
const REPEATS_MAX = 4;

/** Text with column references: `{{title}}\n\n{{body}}`. */
export interface RowTemplate {
  /** Column names, without repeats. */
  readonly columns: readonly string[];
  /** Render the text of a row, at most four times as long as the row, plus the template. */
  render(row: Readonly<Record<string, string | null>>): string;
}

/** Parse a template with these columns. Return a fault as text if it is invalid. */
export function parseRowTemplate(template: string): RowTemplate | { readonly fault: string } {
  const parts = template.split(/\{\{\s*([^{}]*?)\s*\}\}/);
  const columns = parts.filter((_, index) => index % 2 === 1);
  if (columns.length === 0) return { fault: 'must name at least one column, such as {{title}}' };
  if (columns.some((column) => column === '')) return { fault: 'has a reference without the name of a column' };
  if (parts.some((part, index) => index % 2 === 0 && /\{\{|\}\}/.test(part))) {
    return { fault: 'has unbalanced {{ and }}' };
  }
  const byName = Map.groupBy(columns, (column) => column);
  const repeated = [...byName].find(([, uses]) => uses.length > REPEATS_MAX);
  if (repeated !== undefined) return { fault: `must name {{${repeated[0]}}} at most ${REPEATS_MAX} times` };
  return {
    columns: [...byName.keys()],
    render: (row) => parts.map((part, index) => (index % 2 === 0 ? part : (row[part] ?? ''))).join(''),
  };
}
