/**
 * Return a table or connection of LanceDB whose `close` takes effect once its calls in progress have ended. LanceDB
 * 0.31 frees at once what a call in progress still uses, and the process then ends with a segmentation fault. A call
 * that comes after it was freed is refused by LanceDB.
 */
export function closeWhenIdle<T extends object & { close(): void }>(opened: T): T {
  let inProgress = 0;
  let isClosing = false;
  const closeIfIdle = () => {
    if (isClosing && inProgress === 0) opened.close();
  };
  const close = () => {
    isClosing = true;
    closeIfIdle();
  };
  const ended = () => {
    inProgress--;
    closeIfIdle();
  };
  return new Proxy(opened, {
    get(_, name) {
      if (name === 'close') return close;
      const member: unknown = Reflect.get(opened, name, opened);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const result: unknown = member.apply(opened, args);
        if (result instanceof Promise) {
          inProgress++;
          result.then(ended, ended);
        }
        return result;
      };
    },
  });
}
