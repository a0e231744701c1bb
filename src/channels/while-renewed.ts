/**
 * Run work, and renew its claim every `everyMs` until it ends. Wait for a renewal in progress. Retry a failed renewal
 * at the next interval.
 */
export async function whileRenewed<T>(
  everyMs: number,
  renew: () => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  let renewing: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      .catch(() => undefined)
      .finally(() => {
        renewing = null;
      });
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await renewing;
  }
}
