import type { ComponentChildren } from 'preact';
import { t } from '../lib/i18n.ts';
import type { PagedResource } from '../lib/resource.ts';
import { Button } from './controls.tsx';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Number, at the right. */
  readonly numeric?: boolean;
  /** Left out on narrow screens. */
  readonly wide?: boolean;
  readonly class?: string;
}

function classOf<T>(column: Column<T>): string {
  return [column.numeric ? 'numeric' : '', column.wide ? 'wide' : '', column.class ?? ''].filter(Boolean).join(' ');
}

export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
}) {
  return (
    <div class="table-scroll">
      <table class="table">
        <caption class="hidden-visually">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Button below a list that loads its next page. */
export function MoreButton({ of }: { of: PagedResource<unknown> }) {
  if (!of.hasMore) return null;
  return (
    <div class="table-foot">
      <Button look="quiet" isBusy={of.isLoading} onClick={of.loadMore}>
        {of.isLoading ? t('Loading…') : t('Show more')}
      </Button>
    </div>
  );
}
