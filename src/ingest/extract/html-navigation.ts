import type { DefaultTreeAdapterTypes } from 'parse5';

type Node = DefaultTreeAdapterTypes.ChildNode;
type Element = DefaultTreeAdapterTypes.Element;

const NAVIGATION_ROLE = /^(?:navigation|menu|menubar|tablist|directory|doc-toc|doc-index)$/;
const NAVIGATION_NAME =
  /(?:^|[\s_-])(?:nav|navbar|navigation|navi|menu|menubar|sidebar|breadcrumbs?|toc|table-?of-?contents|pagination|pager|sitemap|topbar|skip-?links?|social)(?:$|[\s_-])|(?:^|\s)(?:site-|page-)?(?:header|footer)(?:$|\s)/i;
const SECTION = /^(?:header|footer|aside)$/;
const LIST = /^(?:ul|ol|menu|dir)$/;
const NEVER = /^(?:html|body|main|article|h[1-6]|p|pre|code)$/;
const LINKS_MIN = 3;
/** Minimum share of characters in links: for an element named as navigation, and for an unnamed list. */
const NAMED_SHARE_MIN = 0.5;
const LIST_SHARE_MIN = 0.9;
const LIST_LINKS_MIN = 4;
const LINK_CHARS_MAX = 40;
/** Minimum length of a main element, and minimum share of the unlinked text for a lone `article`. */
const MAIN_CHARS_MIN = 200;
const ARTICLE_SHARE_MIN = 0.3;

interface Count {
  chars: number;
  linkChars: number;
  links: number;
}

/** Element that declares itself as the main text. */
interface MainElement {
  readonly element: Element;
  readonly count: Count;
}

/**
 * Find navigation elements: by role, by name if most of their text is links, lists of short links, and everything
 * around the page's main element. Ignore elements in `dropped`. The walk uses no recursion.
 * @param hasSurroundings false for a book chapter, where notes rather than navigation surround the text
 */
export function findNavigation(
  roots: readonly Node[],
  dropped: ReadonlySet<string>,
  hasSurroundings: boolean,
): ReadonlySet<Node> {
  const found = new Set<Node>();
  const total: Count = { chars: 0, linkChars: 0, links: 0 };
  const open: Array<{ element: Element; count: Count; isLink: boolean }> = [];
  const mains: MainElement[] = [];
  const articles: MainElement[] = [];
  const stack: Array<Node | { leave: true }> = [...roots].reverse();
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    if ('leave' in entry) {
      const closed = open.pop();
      if (closed === undefined) continue;
      add(open.at(-1)?.count ?? total, closed.count);
      if (isNavigation(closed.element, closed.count)) found.add(closed.element);
      else if (closed.element.tagName === 'article') articles.push(closed);
      else if (isMain(closed.element)) mains.push(closed);
    } else if ('tagName' in entry) {
      if (dropped.has(entry.tagName)) continue;
      const isLink = entry.tagName === 'a' || open.at(-1)?.isLink === true;
      open.push({ element: entry, count: { chars: 0, linkChars: 0, links: entry.tagName === 'a' ? 1 : 0 }, isLink });
      stack.push({ leave: true });
      for (let i = entry.childNodes.length - 1; i >= 0; i--) stack.push(entry.childNodes[i] as Node);
    } else if (entry.nodeName === '#text' && 'value' in entry) {
      const within = open.at(-1);
      const chars = entry.value.replace(/\s+/g, '').length;
      add(within?.count ?? total, { chars, linkChars: within?.isLink ? chars : 0, links: 0 });
    }
  }
  const main = hasSurroundings ? mainOf(mains, articles, total) : null;
  for (const element of main === null ? [] : elementsAround(main)) found.add(element);
  return found;
}

function isMain(element: Element): boolean {
  return element.tagName === 'main' || attributeOf(element, 'role') === 'main';
}

/** Return the only main element of a page, or its only article if that has most of the text; otherwise null. */
function mainOf(mains: readonly MainElement[], articles: readonly MainElement[], total: Count): Element | null {
  const isLarge = ({ count }: MainElement) => count.chars >= MAIN_CHARS_MIN;
  const [main, second] = mains.filter(isLarge);
  if (main !== undefined) return second === undefined ? main.element : null;
  const [article, other] = articles.filter(isLarge);
  if (article === undefined || other !== undefined) return null;
  const { count, element } = article;
  const share = (count.chars - count.linkChars) / Math.max(total.chars - total.linkChars, 1);
  return share >= ARTICLE_SHARE_MIN ? element : null;
}

/** Yield the elements beside an element and beside its ancestors, except those that contain a heading of the page. */
function* elementsAround(element: Element): Generator<Element> {
  for (let inner: Element = element; ; ) {
    const { parentNode } = inner;
    if (parentNode === null) return;
    for (const sibling of parentNode.childNodes) {
      if ('tagName' in sibling && sibling !== inner && !NEVER.test(sibling.tagName) && !hasHeading(sibling))
        yield sibling;
    }
    if (!('tagName' in parentNode)) return;
    inner = parentNode;
  }
}

function hasHeading(element: Element): boolean {
  const stack: Node[] = [element];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (!('tagName' in node)) continue;
    if (node.tagName === 'h1') return true;
    for (const child of node.childNodes) stack.push(child);
  }
  return false;
}

function attributeOf(element: Element, name: string): string {
  return element.attrs.find((each) => each.name === name)?.value ?? '';
}

function add(to: Count, { chars, linkChars, links }: Count): void {
  to.chars += chars;
  to.linkChars += linkChars;
  to.links += links;
}

function isNavigation(element: Element, { chars, linkChars, links }: Count): boolean {
  const { tagName } = element;
  if (chars === 0 || NEVER.test(tagName)) return false;
  if (NAVIGATION_ROLE.test(attributeOf(element, 'role'))) return true;
  const share = linkChars / chars;
  const isNamed =
    SECTION.test(tagName) || NAVIGATION_NAME.test(`${attributeOf(element, 'id')} ${attributeOf(element, 'class')}`);
  if (isNamed && links >= LINKS_MIN && share >= NAMED_SHARE_MIN) return true;
  const isShort = linkChars / Math.max(links, 1) <= LINK_CHARS_MAX;
  return LIST.test(tagName) && links >= LIST_LINKS_MIN && share >= LIST_SHARE_MIN && isShort;
}
