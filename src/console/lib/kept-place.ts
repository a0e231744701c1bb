/** State of a page in its browser history entry, which survives a reload. */
export interface KeptPlace {
  /** Scroll position in pixels. */
  readonly scrollY?: number;
  /** Number of shown pages of each list, by list key. */
  readonly pages?: Readonly<Record<string, number>>;
}

/** Time without scrolling after which to store the position, because browsers limit writes to the history. */
const SETTLED_MS = 150;
/** Time for a page that is shown again to grow to its former scroll position. */
const RETURN_MS_MAX = 15_000;
/** Time without growth after which a page at its position counts as loaded. */
const CALM_MS = 1000;
/** Events by which the user takes control. */
const HANDS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/** Read the state of the current entry. */
export function keptPlace(): KeptPlace {
  return (history.state ?? {}) as KeptPlace;
}

function keep(change: KeptPlace): void {
  history.replaceState({ ...keptPlace(), ...change }, '');
}

export function keepPages(key: string, pages: number): void {
  keep({ pages: { ...keptPlace().pages, [key]: pages } });
}

let settling: ReturnType<typeof setTimeout> | undefined;
let endReturn: (() => void) | null = null;

/** Store the scroll position before another page is shown. */
export function leavePlace(): void {
  stopFollowing();
  keep({ scrollY });
}

function stopFollowing(): void {
  clearTimeout(settling);
  endReturn?.();
}

/**
 * Store the user's scroll positions from now on. The browser's own restoration doesn't wait for a page's data.
 *
 * @returns a function that stops this
 */
export function followScrolling(): () => void {
  history.scrollRestoration = 'manual';
  const settle = () => {
    if (endReturn !== null) return;
    clearTimeout(settling);
    settling = setTimeout(() => keep({ scrollY }), SETTLED_MS);
  };
  addEventListener('scroll', settle);
  return () => removeEventListener('scroll', settle);
}

/** Restore the entry's scroll position once its data has loaded, unless the user scrolls or types meanwhile. */
export function returnToPlace(): void {
  stopFollowing();
  const { scrollY: target } = keptPlace();
  if (target === undefined) return;
  const last = setTimeout(stopFollowing, RETURN_MS_MAX);
  let calm: ReturnType<typeof setTimeout> | undefined;
  const growth = new ResizeObserver(() => {
    scrollTo(0, target);
    clearTimeout(calm);
    if (Math.abs(scrollY - target) <= 1) calm = setTimeout(stopFollowing, CALM_MS);
  });
  endReturn = () => {
    endReturn = null;
    clearTimeout(last);
    clearTimeout(calm);
    growth.disconnect();
    for (const hand of HANDS) removeEventListener(hand, stopFollowing);
  };
  for (const hand of HANDS) addEventListener(hand, stopFollowing, { passive: true });
  growth.observe(document.body);
}
