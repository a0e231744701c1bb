/**
 * Wrap a LanceDB table or connection so that `close` waits for calls in progress. LanceDB 0.31 frees memory that such
 * calls still use, which crashes the process. LanceDB itself refuses calls after `close`.
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
