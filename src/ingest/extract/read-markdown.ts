import MarkdownIt, { type Env, type Token } from 'markdown-it';
import type { BlockDraft } from './blocks.ts';
import { markdownWindows } from './markdown-windows.ts';
import { normalizeNewlines } from './read-text.ts';

const FRONT_MATTER_CHARS_MAX = 16 * 1024;
const DEFINITIONS_CHARS_MAX = 256 * 1024;

/**
 * Read the blocks of CommonMark with tables: headings, paragraphs, list items (with their bullet or number), code,
 * and tables with one line per row, `a | b | c`. Remove markup: keep only the text of links and the description of
 * images, and drop HTML tags. Front matter becomes a paragraph.
 */
export function* readMarkdown(text: string): Generator<BlockDraft> {
  const source = normalizeNewlines(text);
  const parser = new MarkdownIt({ html: true });
  const env: Env = {};
  // Link definitions are usually at the end, outside the window that uses them.
  parser.parse(linkDefinitions(source), env);

  const front = frontMatter(source);
  if (front !== null) yield { kind: 'paragraph', text: front.content };
  for (const window of markdownWindows(source.slice(front?.end ?? 0))) {
    yield* blocksOf(parser.parse(window, env));
  }
}

interface ListState {
  readonly ordered: boolean;
  next: number;
}

function* blocksOf(tokens: readonly Token[]): Generator<BlockDraft> {
  const lists: ListState[] = [];
  let headingLevel = 0;
  /** Bullet or number before the next paragraph of a list item; null once used. */
  let bullet: string | null = null;
  let rows: string[] = [];
  let cells: string[] | null = null;

  for (const token of tokens) {
    switch (token.type) {
      case 'heading_open':
        headingLevel = Number(token.tag.slice(1));
        break;
      case 'heading_close':
        headingLevel = 0;
        break;
      case 'bullet_list_open':
        lists.push({ ordered: false, next: 0 });
        break;
      case 'ordered_list_open':
        lists.push({ ordered: true, next: Number(token.attrGet('start') ?? 1) });
        break;
      case 'bullet_list_close':
      case 'ordered_list_close':
        lists.pop();
        break;
      case 'list_item_open': {
        const list = lists.at(-1);
        bullet = list?.ordered ? `${list.next++}. ` : '- ';
        break;
      }
      case 'list_item_close':
        bullet = null;
        break;
      case 'table_open':
        rows = [];
        break;
      case 'tr_open':
        cells = [];
        break;
      case 'tr_close':
        rows.push((cells ?? []).join(' | '));
        cells = null;
        break;
      case 'table_close':
        yield { kind: 'table', text: rows.join('\n') };
        break;
      case 'fence':
      case 'code_block':
        yield { kind: 'code', text: token.content };
        break;
      case 'html_block':
        yield { kind: 'paragraph', text: withoutTags(token.content) };
        break;
      case 'inline': {
        const content = inlineText(token.children ?? []);
        if (cells !== null) {
          cells.push(content.replaceAll('\n', ' '));
        } else if (headingLevel > 0) {
          yield { kind: 'heading', level: headingLevel, text: content.replaceAll('\n', ' ') };
        } else if (lists.length > 0) {
          yield { kind: 'list_item', level: Math.min(lists.length, 100), text: `${bullet ?? ''}${content}` };
          bullet = null;
        } else {
          yield { kind: 'paragraph', text: content };
        }
        break;
      }
      default:
    }
  }
}

function inlineText(tokens: readonly Token[]): string {
  const parts: string[] = [];
  for (const token of tokens) {
    if (token.type === 'softbreak') parts.push(' ');
    else if (token.type === 'hardbreak') parts.push('\n');
    else if (token.type === 'image') parts.push(inlineText(token.children ?? []));
    else if (token.type === 'html_inline') parts.push(/^<br\b/i.test(token.content) ? '\n' : '');
    else parts.push(token.content);
  }
  return parts.join('');
}

const { unescapeAll } = new MarkdownIt().utils;

/** Remove tags, comments, scripts and styles from an HTML block in one pass. */
function withoutTags(html: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    const open = html.indexOf('<', at);
    parts.push(html.slice(at, open < 0 ? html.length : open));
    if (open < 0) break;
    const name = /^<(!--|\/?[a-z]{1,20}|[!?])/.exec(lower.slice(open, open + 24))?.[1];
    if (name === undefined) {
      parts.push('<');
      at = open + 1;
      continue;
    }
    const closing = name === '!--' ? '-->' : name === 'script' || name === 'style' ? `</${name}` : '>';
    const close = lower.indexOf(closing, open + 1);
    if (close < 0) break;
    parts.push(' ');
    at = close + (closing.startsWith('</') ? 0 : closing.length);
  }
  return unescapeAll(parts.join(''))
    .replace(/[^\S\n]+/g, ' ')
    .replace(/\n\s+/g, '\n');
}

/** Find YAML between `---` lines at the very start, and the offset of the document proper. */
function frontMatter(source: string): { content: string; end: number } | null {
  if (!source.startsWith('---\n')) return null;
  const match = /\n---[ \t]*(?:\n|$)/.exec(source.slice(0, FRONT_MATTER_CHARS_MAX));
  if (match === null) return null;
  return { content: source.slice(4, match.index), end: match.index + match[0].length };
}

function linkDefinitions(source: string): string {
  const found: string[] = [];
  let chars = 0;
  for (const match of source.matchAll(/^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S[^\n]{0,500}$/gm)) {
    chars += match[0].length;
    if (chars > DEFINITIONS_CHARS_MAX) break;
    found.push(match[0]);
  }
  return found.join('\n');
}
