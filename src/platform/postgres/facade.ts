import type { AnyClient, PendingQuery } from './pending-query.ts';
import type { Sql } from './sql.ts';

/** Implement `ISql` so that `client` makes each query, and `submit` gets it when it is to run. */
export function makeFacade(client: AnyClient, submit: (query: PendingQuery) => void): AnyClient {
  const intercept = <Q>(query: Q): Q => {
    // Builders and identifiers are not promises; a fragment is one, but its handler is never called.
    if (query instanceof Promise && 'handler' in query) (query as unknown as PendingQuery).handler = submit;
    return query;
  };
  type Call = (...args: unknown[]) => unknown;
  const through = (name: 'unsafe' | 'file'): Call => {
    const call = client[name] as Call;
    return (...args) => intercept(call(...args));
  };
  const make = client as unknown as Call;
  const tag: Call = (...args) => intercept(make(...args));
  const { array, json, typed, types } = client; // these only wrap values
  return Object.assign(tag, {
    unsafe: through('unsafe'),
    file: through('file'),
    notify: (channel: string, payload: string) =>
      (tag as unknown as AnyClient)`select pg_notify(${channel}, ${payload})`,
    array,
    json,
    typed,
    types,
  }) as unknown as AnyClient;
}

/** Give a function of options and a callback the form without options, too. */
export function overloaded(begin: <T>(options: string, fn: (tx: Sql) => Promise<T>) => Promise<T>): Sql['begin'] {
  return <T>(first: string | ((tx: Sql) => Promise<T>), second?: (tx: Sql) => Promise<T>): Promise<T> =>
    typeof first === 'string' ? begin(first, second as (tx: Sql) => Promise<T>) : begin('', first);
}
