/** Text with references to columns: `{{title}}\n\n{{body}}`. */
export interface RowTemplate {
  /** Names of the columns, without duplicates. */
  readonly columns: readonly string[];
  render(row: Readonly<Record<string, string | null>>): string;
}

/** Parse a template over columns. Return a fault as text if it is invalid. */
export function parseRowTemplate(template: string): RowTemplate | { readonly fault: string } {
  const parts = template.split(/\{\{\s*([^{}]*?)\s*\}\}/);
  const columns = parts.filter((_, index) => index % 2 === 1);
  if (columns.length === 0) return { fault: 'must name at least one column, such as {{title}}' };
  if (columns.some((column) => column === '')) return { fault: 'has a reference without the name of a column' };
  if (parts.some((part, index) => index % 2 === 0 && /\{\{|\}\}/.test(part))) {
    return { fault: 'has unbalanced {{ and }}' };
  }
  return {
    columns: [...new Set(columns)],
    render: (row) => parts.map((part, index) => (index % 2 === 0 ? part : (row[part] ?? ''))).join(''),
  };
}
