import type { ComponentChildren } from 'preact';
import { t } from '../lib/i18n.ts';
import type { PagedResource, Resource } from '../lib/resource.ts';
import { Button } from './controls.tsx';
import { Empty, Loaded } from './states.tsx';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** True for numbers, which are right-aligned. */
  readonly numeric?: boolean;
  /** True to hide the column on narrow screens. */
  readonly wide?: boolean;
  readonly class?: string;
  /** Sort key of this column, if the list can be sorted by it. */
  readonly sort?: string;
}

function classOf<T>(column: Column<T>): string {
  return [column.numeric ? 'numeric' : '', column.wide ? 'wide' : '', column.class ?? ''].filter(Boolean).join(' ');
}

/** Sort order of a table whose columns have a `sort`. */
export interface Sorting {
  readonly by: string;
  readonly order: 'asc' | 'desc';
  readonly onSort: (by: string, order: 'asc' | 'desc') => void;
}

/** Rows selected by the user, by key. */
export interface Selection<T> {
  readonly keys: ReadonlySet<string>;
  readonly onKeys: (keys: ReadonlySet<string>) => void;
  readonly nameOf: (row: T) => string;
}

interface TableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly sorting?: Sorting;
  readonly selection?: Selection<T> | undefined;
  /** True for rows with a single line. */
  readonly dense?: boolean;
}

export function Table<T>({ caption, columns, rows, keyOf, sorting, selection, dense }: TableProps<T>) {
  return (
    <div class="table-scroll">
      <table class={dense ? 'table dense' : 'table'}>
        <caption class="hidden-visually">{caption}</caption>
        <thead>
          <tr>
            {selection && <SelectAll selection={selection} keys={rows.map(keyOf)} />}
            {columns.map((column) => (
              <Heading key={column.title} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {selection && <SelectRow selection={selection} row={row} id={keyOf(row)} />}
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

function Heading<T>({ column, sorting }: { column: Column<T>; sorting: Sorting | undefined }) {
  const { title, sort } = column;
  if (sorting === undefined || sort === undefined) {
    return (
      <th scope="col" class={classOf(column)}>
        {title}
      </th>
    );
  }
  const isCurrent = sorting.by === sort;
  const next = isCurrent && sorting.order === 'asc' ? 'desc' : 'asc';
  return (
    <th
      scope="col"
      class={classOf(column)}
      aria-sort={!isCurrent ? undefined : sorting.order === 'asc' ? 'ascending' : 'descending'}
    >
      <button type="button" class="sort" onClick={() => sorting.onSort(sort, next)}>
        {title}
        <span aria-hidden="true">{!isCurrent ? '' : sorting.order === 'asc' ? ' ↑' : ' ↓'}</span>
      </button>
    </th>
  );
}

function SelectAll<T>({ selection: { keys, onKeys }, keys: all }: { selection: Selection<T>; keys: string[] }) {
  return (
    <th scope="col" class="select">
      <input
        type="checkbox"
        aria-label={t('Select all rows shown')}
        checked={all.length > 0 && all.every((key) => keys.has(key))}
        onChange={(event) => onKeys(event.currentTarget.checked ? new Set(all) : new Set())}
      />
    </th>
  );
}

function SelectRow<T>({ selection, row, id }: { selection: Selection<T>; row: T; id: string }) {
  const { keys, onKeys, nameOf } = selection;
  const toggle = (isOn: boolean) => {
    const next = new Set(keys);
    if (isOn) next.add(id);
    else next.delete(id);
    onKeys(next);
  };
  return (
    <td class="select">
      <input
        type="checkbox"
        aria-label={t('Select {name}', { name: nameOf(row) })}
        checked={keys.has(id)}
        onChange={(event) => toggle(event.currentTarget.checked)}
      />
    </td>
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

/** Rows of a list, once they have loaded, with a button for the next page. Without rows, it says so. */
export function List<T>({
  of,
  empty,
  hint,
  action,
  children,
}: {
  of: Resource<readonly T[]> | PagedResource<T>;
  /** Title of an empty list. */
  empty: string;
  hint?: string;
  action?: ComponentChildren;
  children: (rows: readonly T[]) => ComponentChildren;
}) {
  return (
    <Loaded of={of}>
      {(rows) => (
        <>
          {rows.length > 0 ? (
            children(rows)
          ) : (
            <Empty title={empty} action={action}>
              {hint}
            </Empty>
          )}
          {'hasMore' in of && <MoreButton of={of} />}
        </>
      )}
    </Loaded>
  );
}
