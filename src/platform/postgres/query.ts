import type { Readable, Writable } from 'node:stream';
import type postgres from 'postgres';
import { type Parameter, toTyped } from './arrays.ts';
import type { Client } from './client.ts';

type Rows = readonly (object | undefined)[];
type Sent = postgres.PendingQuery<postgres.Row[]>;

/** Function that sends a query on a connection, passes the answer to `receive` and returns its result. */
export type Send = <R>(query: Statement, receive: (sent: Sent) => PromiseLike<R>) => Promise<R>;

interface QueryOptions {
  readonly isPrepared: boolean;
  readonly send: Send;
  readonly allowsCopy: boolean;
}

/**
 * Names or rows for a statement, in the syntax of postgres.js: `${sql('name')}`, `${sql(['a', 'b'])}`, `${sql(rows)}`.
 */
export class Helper {
  readonly first: unknown;

  constructor(first: unknown) {
    this.first = first;
  }
}

/** Text of a query, or of a fragment, with its arguments. */
export class Statement {
  /** Text around the arguments. For `unsafe` it is one part, and the arguments are the values of `$1`, `$2`, …. */
  readonly parts: readonly string[];
  readonly args: readonly unknown[];
  /** False if the query's prepared statement must not be kept. */
  isPrepared: boolean;

  constructor(parts: readonly string[], args: readonly unknown[], isPrepared: boolean) {
    this.parts = parts;
    this.args = args;
    this.isPrepared = isPrepared;
  }
}

/** Query. It is sent when somebody awaits its rows, unless it is a fragment of another query. */
export class Query<T extends Rows> extends Statement implements Promise<postgres.RowList<T>> {
  readonly [Symbol.toStringTag] = 'Query';
  readonly #send: Send;
  readonly #allowsCopy: boolean;
  #rows: Promise<postgres.RowList<T>> | null = null;

  constructor(parts: readonly string[], args: readonly unknown[], { isPrepared, send, allowsCopy }: QueryOptions) {
    super(parts, args, isPrepared);
    this.#send = send;
    this.#allowsCopy = allowsCopy;
  }

  /** Send the query. */
  execute(): this {
    // The caller that awaits the result handles a rejection.
    this.#result().catch(() => undefined);
    return this;
  }

  /** Start a COPY TO STDOUT. Its connection accepts no other statement until the stream ends. */
  readable(): Promise<Readable> {
    return this.#copy((sent) => sent.readable());
  }

  /** Start a COPY FROM STDIN. Its connection accepts no other statement until the stream ends. */
  writable(): Promise<Writable> {
    return this.#copy((sent) => sent.writable());
  }

  // biome-ignore lint/suspicious/noThenProperty: a query can be awaited, as one of postgres.js can.
  then<R = postgres.RowList<T>, E = never>(
    onRows?: ((rows: postgres.RowList<T>) => R | PromiseLike<R>) | null,
    onError?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    return this.#result().then(onRows, onError);
  }

  catch<E = never>(onError?: ((error: unknown) => E | PromiseLike<E>) | null): Promise<postgres.RowList<T> | E> {
    return this.#result().catch(onError);
  }

  finally(onEnd?: (() => void) | null): Promise<postgres.RowList<T>> {
    return this.#result().finally(onEnd);
  }

  async #copy<R>(start: (sent: Sent) => Promise<R>): Promise<R> {
    if (!this.#allowsCopy) throw new TypeError('COPY statements need a transaction: they go on after their query');
    return this.#send(this, start);
  }

  #result(): Promise<postgres.RowList<T>> {
    this.#rows ??= this.#send(this, (sent) => sent as unknown as Promise<postgres.RowList<T>>);
    return this.#rows;
  }
}

const ALL_COLUMNS = /(?:^|\bselect\s|\breturning\s|,)\s*(?:\w+\.)?\*/i;

/**
 * Send a query to a client.
 *
 * Never prepare a query that reads all columns of a table (`SELECT *`): after a migration adds a column, PostgreSQL
 * refuses the prepared form ("cached plan must not change result type").
 */
export function sendTo(client: Client, query: Statement): Sent {
  const values: unknown[] = [];
  const text = textOf(query, values);
  const parameters = (query.parts.length === 1 && values.length === 0 ? query.args : values).map((value) =>
    toTyped(client, value),
  );
  const prepare = query.isPrepared && !ALL_COLUMNS.test(text);
  return client.unsafe(text, parameters as never[], { prepare });
}

/** Render a query and its fragments as text, and append its parameters to `values`. */
function textOf({ parts, args }: Statement, values: unknown[]): string {
  let text = parts[0] ?? '';
  for (let nth = 1; nth < parts.length; nth++) text += render(args[nth - 1], text, values) + parts[nth];
  return text;
}

/** @param before preceding text, which determines the meaning of a helper */
function render(arg: unknown, before: string, values: unknown[]): string {
  if (arg instanceof Statement) return textOf(arg, values);
  if (Array.isArray(arg) && arg[0] instanceof Statement) return arg.map((each) => textOf(each, values)).join(' ');
  if (arg instanceof Helper) return renderHelper(arg.first, before, values);
  return `$${values.push(arg)}`;
}

function renderHelper(first: unknown, before: string, values: unknown[]): string {
  if (typeof first === 'string') return identifier(first);
  const list = (of: readonly unknown[]) => of.map((value) => render(value, '', values)).join(',');
  if (Array.isArray(first) && /\bin\s*$/i.test(before)) return `(${first.length === 0 ? 'null' : list(first)})`;
  if (Array.isArray(first) && typeof first[0] === 'string') return first.map(identifier).join(',');
  const rows = (Array.isArray(first) ? first : [first]) as Record<string, unknown>[];
  const names = Object.keys(rows[0] ?? {});
  if (/\bset\s*$/i.test(before)) return names.map((name) => `${identifier(name)}=${list([rows[0]?.[name]])}`).join(',');
  return `(${names.map(identifier).join(',')})values${rows.map((row) => `(${list(names.map((name) => row[name]))})`).join(',')}`;
}

/** Quote a name. A dot separates schema and name. */
function identifier(name: string): string {
  return `"${name.replaceAll('"', '""').replaceAll('.', '"."')}"`;
}

/** Value of a parameter, or part of a statement. */
export type Argument =
  | postgres.SerializableParameter
  | Parameter
  | Helper
  | Statement
  | readonly Statement[]
  | readonly postgres.SerializableParameter[];
