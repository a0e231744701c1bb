import type { DocumentDetails, SearchResult } from '../../client/schema.ts';
import type { DocumentLink } from '../tool.ts';
import { passageOf, renderResult } from './render-results.ts';
import { cutToTokens, tokensOf } from './token-budget.ts';

/** Search result with its short id, and the details of its document if known. */
export interface ResultItem {
  readonly id: string;
  readonly result: SearchResult;
  readonly details: DocumentDetails | null;
}

/** Forms of a search result in a tool result. Clients show a model the text, the structure, or both. */
interface ItemForms {
  readonly text: string;
  readonly structured: Record<string, unknown> & Pick<SearchResult, 'id' | 'document_id' | 'text'>;
  readonly link: DocumentLink | null;
}

/** Fractions of a passage to try if it doesn't fit as a whole. */
const CUT_SHARES = [1, 0.8, 0.6, 0.4, 0.2];
const CUT_MARK = ' […]';

/**
 * Take the first items that fit into a number of tokens, in text and structured form. If even the first one doesn't
 * fit, cut its text.
 */
export function fitItems(
  items: readonly ResultItem[],
  tokensMax: number,
): {
  readonly shown: readonly ResultItem[];
  readonly text: string;
  readonly structured: ItemForms['structured'][];
  readonly links: DocumentLink[];
} {
  const shown: ResultItem[] = [];
  const forms: ItemForms[] = [];
  const links = new Map<string, DocumentLink>();
  let [textTokens, structuredTokens] = [0, 0];
  for (const item of items) {
    const own = forms.length === 0 ? fitFirst(item, tokensMax) : formsOf(item);
    const link = links.has(item.result.document_id) ? null : own.link;
    textTokens += textTokensOf(own.text, link);
    structuredTokens += tokensOf(JSON.stringify(own.structured));
    if (forms.length > 0 && Math.max(textTokens, structuredTokens) > tokensMax) break;
    shown.push(item);
    forms.push(own);
    if (link !== null) links.set(item.result.document_id, link);
  }
  return {
    shown,
    text: forms.map(({ text }) => text).join('\n\n'),
    structured: forms.map(({ structured }) => structured),
    links: [...links.values()],
  };
}

function fitFirst(item: ResultItem, tokensMax: number): ItemForms {
  const whole = formsOf(item);
  if (tokensOfForms(whole) <= tokensMax) return whole;
  const passage = passageOf(item.result);
  const room = tokensMax - (tokensOfForms(whole) - tokensOf(passage));
  let cut = whole;
  for (const share of CUT_SHARES) {
    const text = cutToTokens(passage, Math.max(room * share, 1), 'start').trimEnd() + CUT_MARK;
    cut = formsOf({ ...item, result: { ...item.result, highlights: [], text } });
    if (tokensOfForms(cut) <= tokensMax) break;
  }
  return cut;
}

function tokensOfForms({ text, structured, link }: ItemForms): number {
  return Math.max(textTokensOf(text, link), tokensOf(JSON.stringify(structured)));
}

function textTokensOf(text: string, link: DocumentLink | null): number {
  return tokensOf(text) + (link === null ? 0 : tokensOf(JSON.stringify(link)));
}

function formsOf({ id, result, details }: ResultItem): ItemForms {
  // Omit the ranks of the legs and the places of a passage, which take many tokens and don't help a model.
  const { scores: _, explain: __, highlights: ___, citation, ...rest } = result;
  const { page, sheet, slide, heading_path } = citation.locator;
  const chunksCount = details?.chunks_count ?? null;
  return {
    text: renderResult(id, result, chunksCount),
    structured: {
      ...rest,
      id,
      text: passageOf(result),
      ...(chunksCount === null ? {} : { chunks_count: chunksCount }),
      citation: { ...citation, locator: { page, sheet, slide, heading_path } },
    },
    link:
      citation.url === null
        ? null
        : {
            uri: citation.url,
            name: citation.file_name,
            mimeType: details?.content_type ?? undefined,
            size: details?.size_bytes,
          },
  };
}
