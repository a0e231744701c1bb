/** Quote an id for a predicate. Our ids have a fixed alphabet. Throw for anything else, to prevent injection. */
export function quoteId(id: string): string {
  if (!/^[a-z0-9_]+$/.test(id)) throw new Error('not an id');
  return `'${id}'`;
}
