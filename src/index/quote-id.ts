/** Quote an id for a predicate. Our ids have a fixed alphabet; the check keeps anything else out of the predicate. */
export function quoteId(id: string): string {
  if (!/^[a-z0-9_]+$/.test(id)) throw new Error('not an id');
  return `'${id}'`;
}
