/** State of a page that its entry in the browser's history keeps, also over a reload. */
export interface KeptPlace {
  /** Distance in pixels to which the page was scrolled. */
  readonly scrollY?: number;
  /** Number of the pages that were shown of each list, by the key of the list. */
  readonly pages?: Readonly<Record<string, number>>;
}

/** Time without scrolling after which the distance is kept: browsers bound how often the history may be written. */
const SETTLED_MS = 150;
/** Time in which a page that is shown again may still grow to the place at which it was left. */
const RETURN_MS_MAX = 15_000;
/** Time without growth after which a page at its place counts as complete. */
const CALM_MS = 1000;
/** Events by which a person takes over. */
const HANDS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/** Read what the current entry keeps. */
export function keptPlace(): KeptPlace {
  return (history.state ?? {}) as KeptPlace;
}

function keep(change: KeptPlace): void {
  history.replaceState({ ...keptPlace(), ...change }, '');
}

/** Keep how many pages of a list are shown. */
export function keepPages(key: string, pages: number): void {
  keep({ pages: { ...keptPlace().pages, [key]: pages } });
}

let settling: ReturnType<typeof setTimeout> | undefined;
let endReturn: (() => void) | null = null;

/** Keep where the page is scrolled to, before another one is shown. */
export function leavePlace(): void {
  stopFollowing();
  keep({ scrollY });
}

function stopFollowing(): void {
  clearTimeout(settling);
  endReturn?.();
}

/**
 * Keep the scrolling of a person, from now on. The browser's own way back would not wait for the data of a page.
 *
 * @returns a function that ends it
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

/**
 * Return to the place at which the page of the current entry was left, as soon as its data are there; whoever scrolls or
 * types meanwhile stays where they are.
 */
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
