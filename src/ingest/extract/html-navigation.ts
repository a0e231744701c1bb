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
/**
 * Minimum share of characters in links: for an element whose name says navigation, and for a list without such a name.
 */
const NAMED_SHARE_MIN = 0.5;
const LIST_SHARE_MIN = 0.9;
const LIST_LINKS_MIN = 4;
const LINK_CHARS_MAX = 40;

interface Count {
  chars: number;
  linkChars: number;
  links: number;
}

/**
 * Find the elements that hold navigation: by role, by name if most of their text is links, and lists of short links.
 * Elements of `dropped` are not counted. The walk uses no recursion.
 */
export function findNavigation(roots: readonly Node[], dropped: ReadonlySet<string>): ReadonlySet<Node> {
  const found = new Set<Node>();
  const total: Count = { chars: 0, linkChars: 0, links: 0 };
  const open: Array<{ element: Element; count: Count; isLink: boolean }> = [];
  const stack: Array<Node | { leave: true }> = [...roots].reverse();
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    if ('leave' in entry) {
      const closed = open.pop();
      if (closed === undefined) continue;
      add(open.at(-1)?.count ?? total, closed.count);
      if (isNavigation(closed.element, closed.count)) found.add(closed.element);
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
  return found;
}

function add(to: Count, { chars, linkChars, links }: Count): void {
  to.chars += chars;
  to.linkChars += linkChars;
  to.links += links;
}

function isNavigation(element: Element, { chars, linkChars, links }: Count): boolean {
  const { tagName } = element;
  if (chars === 0 || NEVER.test(tagName)) return false;
  const attribute = (name: string) => element.attrs.find((each) => each.name === name)?.value ?? '';
  if (NAVIGATION_ROLE.test(attribute('role'))) return true;
  const share = linkChars / chars;
  const isNamed = SECTION.test(tagName) || NAVIGATION_NAME.test(`${attribute('id')} ${attribute('class')}`);
  if (isNamed && links >= LINKS_MIN && share >= NAMED_SHARE_MIN) return true;
  const isShort = linkChars / Math.max(links, 1) <= LINK_CHARS_MAX;
  return LIST.test(tagName) && links >= LIST_LINKS_MIN && share >= LIST_SHARE_MIN && isShort;
}
