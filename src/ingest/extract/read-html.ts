import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import type { BlockDraft } from './blocks.ts';
import { decodeText } from './decode-text.ts';
import { charsetOfHtml } from './html-charset.ts';
import { findNavigation } from './html-navigation.ts';

type Node = DefaultTreeAdapterTypes.ChildNode;
type Element = DefaultTreeAdapterTypes.Element;

/** Elements whose content isn't document text. */
const DROPPED: ReadonlySet<string> = new Set(
  'script style noscript template nav iframe svg head object embed audio video canvas textarea select datalist'.split(
    ' ',
  ),
);
/** Elements that end a paragraph; all others are inline, including unknown ones, as in a browser. */
const BLOCK: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure ' +
    'footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu ol p pre search section ' +
    'summary table tbody td tfoot th thead tr ul xmp'
  ).split(' '),
);
const HEADING = /^h[1-6]$/;
/**
 * Elements that XHTML may write as `<title/>`, which HTML parses as a start tag. The second lookahead keeps the search
 * from trying every shorter name, which would take quadratic time.
 */
const SELF_CLOSED =
  /<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([a-zA-Z][\w:-]*)(?![\w:-])([^<>]*?)\/>/g;

export interface HtmlOptions {
  /** True if the page follows the rules of XML. */
  readonly isXhtml?: boolean;
  /** Use of the page's title as the first heading; `without_h1` is the default. */
  readonly title?: 'without_h1' | 'never';
}

/**
 * Read the blocks of an HTML page: headings, paragraphs, list items with their bullet or number, tables with one line
 * per row (`a | b | c`), `pre` as code. Drop scripts, styles, `nav` and frames, and mark other navigation as
 * boilerplate. Never fetch anything. The title becomes the first heading if there is no `h1`. The walk uses no
 * recursion, so depth needs no stack.
 * @param declaredCharset charset of the content type; a byte order mark takes precedence over it, a `<meta>` only if
 *   the bytes are invalid in it
 */
export function readHtml(bytes: Uint8Array, declaredCharset: string | null, options: HtmlOptions = {}): BlockDraft[] {
  return readHtmlPage(bytes, declaredCharset, options).blocks;
}

/** Read the blocks of an HTML page like `readHtml`, and the URLs of its pictures in reading order. */
export function readHtmlPage(
  bytes: Uint8Array,
  declaredCharset: string | null,
  options: HtmlOptions = {},
): { readonly blocks: BlockDraft[]; readonly pictures: readonly string[] } {
  const { text } = decodeText(bytes, [declaredCharset, charsetOfHtml(bytes)]);
  const source = options.isXhtml ? text.replace(SELF_CLOSED, '<$1$2></$1>') : text;
  const document = parse(source, { scriptingEnabled: false });
  const survey = surveyTree(document.childNodes);
  const walk = new Walk(survey.layoutTables, findNavigation(document.childNodes, DROPPED, !options.isXhtml));
  if (survey.title !== null && !survey.hasH1 && options.title !== 'never')
    walk.blocks.push({ kind: 'heading', level: 1, text: survey.title });
  walk.run(document.childNodes);
  return { blocks: walk.blocks, pictures: survey.pictures };
}

interface Survey {
  title: string | null;
  /** URLs of pictures, including those in drawings, as used by scanned books. */
  readonly pictures: string[];
  hasH1: boolean;
  /** Tables that only lay out other blocks, and are read as blocks instead of rows. */
  layoutTables: Set<Node>;
}

function surveyTree(roots: readonly Node[]): Survey {
  const survey: Survey = { title: null, pictures: [], hasH1: false, layoutTables: new Set() };
  const stack: Array<{ node: Node; table: Node | null; dropped: boolean }> = [];
  const push = (nodes: readonly Node[], table: Node | null, dropped: boolean) => {
    for (let i = nodes.length - 1; i >= 0; i--) stack.push({ node: nodes[i] as Node, table, dropped });
  };
  push(roots, null, false);
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    const { node, table } = entry;
    if (!('tagName' in node)) continue;
    const { tagName } = node;
    if (tagName === 'title' && survey.title === null && node.namespaceURI.endsWith('xhtml')) {
      survey.title = collapse(node.childNodes.map((child) => ('value' in child ? child.value : '')).join('')) || null;
    }
    const picture = pictureOf(node);
    if (picture !== null) survey.pictures.push(picture);
    const dropped = entry.dropped || DROPPED.has(tagName);
    if (!dropped && tagName === 'h1') survey.hasH1 = true;
    if (table !== null && (tagName === 'table' || HEADING.test(tagName))) survey.layoutTables.add(table);
    push(node.childNodes, tagName === 'table' ? node : table, dropped);
  }
  return survey;
}

/** Return a picture's URL: of an HTML `img` or an SVG `image`. */
function pictureOf({ tagName, attrs }: Element): string | null {
  const name = tagName === 'img' ? 'src' : tagName === 'image' ? 'href' : null;
  return name === null ? null : (attrs.find((attribute) => attribute.name === name)?.value.trim() ?? null);
}

/** Stack entry below an element's children that marks their end. */
interface Leave {
  readonly leave: Element;
}

class Walk {
  readonly blocks: BlockDraft[] = [];
  readonly #layoutTables: ReadonlySet<Node>;
  /** Text of the current block. */
  #text: string[] = [];
  #headingLevel = 0;
  #preDepth = 0;
  readonly #lists: Array<{ ordered: boolean; next: number }> = [];
  #bullet: string | null = null;
  /** Table being read as rows. It contains no table, since a nested table makes it a layout table. */
  #table: Element | null = null;
  #rows: string[] = [];
  #cells: string[] = [];

  readonly #navigation: ReadonlySet<Node>;
  /** Number of navigation elements around the current position. */
  #navigationDepth = 0;

  constructor(layoutTables: ReadonlySet<Node>, navigation: ReadonlySet<Node>) {
    this.#layoutTables = layoutTables;
    this.#navigation = navigation;
  }

  run(roots: readonly Node[]): void {
    const stack: Array<Node | Leave> = [...roots].reverse();
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      if ('leave' in entry) {
        this.#leave(entry.leave);
      } else if ('tagName' in entry) {
        if (DROPPED.has(entry.tagName)) continue;
        this.#enter(entry);
        stack.push({ leave: entry });
        for (let i = entry.childNodes.length - 1; i >= 0; i--) stack.push(entry.childNodes[i] as Node);
      } else if (entry.nodeName === '#text' && 'value' in entry) {
        this.#text.push(this.#preDepth > 0 ? entry.value : entry.value.replace(/\s+/g, ' '));
      }
    }
    this.#flush();
  }

  #enter(element: Element): void {
    const { tagName } = element;
    if (this.#navigation.has(element)) {
      if (this.#table === null) this.#flush();
      this.#navigationDepth++;
    }
    if (tagName === 'br') this.#text.push('\n');
    if (!BLOCK.has(tagName)) return;
    if (this.#table !== null) {
      if (tagName === 'tr') this.#endRow();
      else if (tagName !== 'td' && tagName !== 'th') this.#text.push(' ');
      return;
    }
    this.#flush();
    if (HEADING.test(tagName)) this.#headingLevel = Number(tagName.slice(1));
    else if (tagName === 'pre' || tagName === 'listing' || tagName === 'xmp') this.#preDepth++;
    else if (tagName === 'ul' || tagName === 'menu' || tagName === 'dir') this.#lists.push({ ordered: false, next: 0 });
    else if (tagName === 'ol') this.#lists.push({ ordered: true, next: startOf(element) });
    else if (tagName === 'li') {
      const list = this.#lists.at(-1);
      this.#bullet = list?.ordered ? `${list.next++}. ` : '- ';
    } else if (tagName === 'table' && !this.#layoutTables.has(element)) {
      this.#table = element;
    }
  }

  #leave(element: Element): void {
    const { tagName } = element;
    const isNavigation = this.#navigation.has(element);
    if (BLOCK.has(tagName)) {
      if (this.#table !== null) this.#leaveInTable(element);
      else this.#leaveBlock(tagName);
    } else if (isNavigation && this.#table === null) {
      this.#flush();
    }
    if (isNavigation) this.#navigationDepth--;
  }

  #leaveBlock(tagName: string): void {
    this.#flush();
    if (HEADING.test(tagName)) this.#headingLevel = 0;
    else if (tagName === 'pre' || tagName === 'listing' || tagName === 'xmp') this.#preDepth--;
    else if (tagName === 'ul' || tagName === 'menu' || tagName === 'dir' || tagName === 'ol') this.#lists.pop();
    else if (tagName === 'li') this.#bullet = null;
  }

  #leaveInTable(element: Element): void {
    const { tagName } = element;
    if (element === this.#table) {
      this.#endRow();
      this.#push({ kind: 'table', text: this.#rows.join('\n') });
      this.#rows = [];
      this.#table = null;
    } else if (tagName === 'td' || tagName === 'th') {
      this.#cells.push(collapse(this.#text.join('')));
      this.#text = [];
    } else if (tagName === 'tr') {
      this.#endRow();
    } else if (tagName === 'caption') {
      this.#push({ kind: 'paragraph', text: collapse(this.#text.join('')) });
      this.#text = [];
    } else {
      this.#text.push(' ');
    }
  }

  #endRow(): void {
    const loose = collapse(this.#text.join(''));
    if (loose !== '') this.#cells.push(loose);
    if (this.#cells.some((cell) => cell !== '')) this.#rows.push(this.#cells.join(' | '));
    this.#text = [];
    this.#cells = [];
  }

  /** Add a block. A heading in navigation doesn't apply to the text that follows. */
  #push(block: BlockDraft): void {
    if (this.#navigationDepth === 0) this.blocks.push(block);
    else this.blocks.push({ ...block, kind: block.kind === 'heading' ? 'paragraph' : block.kind, boilerplate: true });
  }

  #flush(): void {
    if (this.#text.length === 0) return;
    const raw = this.#text.join('');
    this.#text = [];
    if (this.#preDepth > 0) {
      this.#push({ kind: 'code', text: raw });
      return;
    }
    const text = collapseKeepingBreaks(raw);
    if (text === '') return;
    if (this.#headingLevel > 0) {
      this.#push({ kind: 'heading', level: this.#headingLevel, text: text.replaceAll('\n', ' ') });
    } else if (this.#lists.length > 0 || this.#bullet !== null) {
      const level = Math.min(Math.max(this.#lists.length, 1), 100);
      this.#push({ kind: 'list_item', level, text: `${this.#bullet ?? ''}${text}` });
      this.#bullet = null;
    } else {
      this.#push({ kind: 'paragraph', text });
    }
  }
}

function startOf(list: Element): number {
  const start = Number.parseInt(list.attrs.find((attribute) => attribute.name === 'start')?.value ?? '1', 10);
  return Number.isSafeInteger(start) ? start : 1;
}

function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Collapse blanks to one, and those with a line break (`br`) to one newline. */
function collapseKeepingBreaks(text: string): string {
  return text.replace(/\s+/g, (blank) => (blank.includes('\n') ? '\n' : ' ')).trim();
}
