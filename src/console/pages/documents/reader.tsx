import { useEffect, useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import type { DocumentChunks, DocumentView, Locator } from '../../types.ts';
import { Button, Notice } from '../../ui/controls.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';

const CHUNKS_READ = 60;
const CHUNKS_BEFORE_CITED = 15;

type Chunk = DocumentChunks['chunks'][number];

/** Read the index of a chunk from a fragment, which is a chunk's id (`doc_…:12`) or its index. */
function chunkIndexOf(fragment: string): number | null {
  const digits = /(?:^|[^0-9a-z])(\d+)$/.exec(fragment)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Text of a document under its headings and pages, loaded in parts on request. */
export function Reader({ document, cited }: { document: DocumentView; cited: string }) {
  const askedIndex = chunkIndexOf(cited);
  const count = document.chunks_count ?? 0;
  const isGone = askedIndex !== null && count > 0 && askedIndex >= count;
  const citedIndex = isGone ? null : askedIndex;
  const start = Math.max(0, (citedIndex ?? 0) - CHUNKS_BEFORE_CITED);
  const [range, setRange] = useState({ first: start, end: start + CHUNKS_READ });
  const isInside = isGone
    ? range.first === 0
    : citedIndex === null || (citedIndex >= range.first && citedIndex < range.end);
  useEffect(() => {
    if (!isInside) setRange({ first: start, end: start + CHUNKS_READ });
  }, [isInside, start]);
  const text = useResource(`chunks ${document.id} ${document.updated_at} ${range.first} ${range.end}`, (signal) =>
    readChunks(document.id, range, signal),
  );
  const [shown, setShown] = useState<{ chunks: readonly Chunk[]; hasMore: boolean } | null>(null);
  useEffect(() => {
    if (text.data) setShown(text.data);
  }, [text.data]);
  useEffect(() => {
    if (shown && citedIndex !== null)
      window.document.getElementById(`chunk-${citedIndex}`)?.scrollIntoView({ block: 'center' });
  }, [shown, citedIndex]);

  if (text.error?.status === 409) return <NotReady document={document} />;
  if (text.error) return <Failure error={text.error} onRetry={text.refresh} />;
  if (shown === null) return <Loading />;
  if (document.file_type === 'vector' && shown.chunks.every(({ text: own }) => own === '')) {
    return (
      <Empty title={t('This document has no text')}>
        {t('It is a vector that was imported without its text. Searches by meaning find it.')}
      </Empty>
    );
  }
  if (shown.chunks.length === 0) return <Empty title={t('This document has no text')} />;
  return (
    <div class="reader">
      {isGone && (
        <Notice tone="warn" title={t('The cited passage is not there any more')}>
          {t('The document has changed since. This is its text from the start.')}
        </Notice>
      )}
      {range.first > 0 && (
        <Button small onClick={() => setRange({ ...range, first: Math.max(0, range.first - CHUNKS_READ) })}>
          {t('Show earlier text')}
        </Button>
      )}
      <Passages chunks={shown.chunks} cited={citedIndex} />
      {shown.hasMore && (
        <Button small isBusy={text.isLoading} onClick={() => setRange({ ...range, end: range.end + CHUNKS_READ })}>
          {t('Show more text')}
        </Button>
      )}
    </div>
  );
}

const CHUNKS_A_REQUEST = 200;

async function readChunks(id: string, { first, end }: { first: number; end: number }, signal: AbortSignal) {
  const chunks: Chunk[] = [];
  let next: number | null = first;
  while (next !== null && next < end) {
    const query = { first: next, count: Math.min(end - next, CHUNKS_A_REQUEST) };
    const reply: DocumentChunks = await call<DocumentChunks>(pathOf('v1', 'documents', id, 'chunks'), {
      query,
      signal,
    });
    chunks.push(...reply.chunks);
    next = reply.next;
  }
  return { chunks, hasMore: next !== null };
}

function NotReady({ document }: { document: DocumentView }) {
  if (document.status === 'failed')
    return <Empty title={t('There is no text')}>{t('The document could not be processed.')}</Empty>;
  return (
    <Empty title={t('The text is not there yet')}>{t('It appears here as soon as the document is processed.')}</Empty>
  );
}

function Passages({ chunks, cited }: { chunks: readonly Chunk[]; cited: number | null }) {
  let heading = '';
  let place = '';
  let end = -1;
  return (
    <>
      {chunks.map((chunk) => {
        const { locator, chunk_index: index } = chunk;
        const chunkHeading = locator.heading_path.join(' › ');
        const chunkPlace = placeOf(locator);
        const isNewHeading = chunkHeading !== '' && chunkHeading !== heading;
        const isNewPlace = chunkPlace !== '' && chunkPlace !== place;
        // Chunks overlap. Show the end of the previous chunk only once.
        const overlap = end > locator.start ? end - locator.start : 0;
        if (chunkHeading !== '') heading = chunkHeading;
        if (chunkPlace !== '') place = chunkPlace;
        end = Math.max(end, locator.end);
        return [
          isNewPlace && (
            <p key={`${chunk.id}-place`} class="page-mark">
              {chunkPlace}
            </p>
          ),
          isNewHeading && <h2 key={`${chunk.id}-heading`}>{chunkHeading}</h2>,
          <Passage key={chunk.id} index={index} text={textBelow(chunk, overlap)} isCited={index === cited} />,
        ];
      })}
    </>
  );
}

/** Return a chunk's text without parts already shown: the end of the previous chunk, and the heading above. */
function textBelow({ text, locator }: Chunk, overlap: number): string {
  const rest = text.slice(overlap);
  const heading = locator.heading_path.at(-1);
  if (heading === undefined || overlap > 0 || !rest.startsWith(`${heading}\n`)) return rest;
  return rest.slice(heading.length).trimStart();
}

function Passage({ index, text, isCited }: { index: number; text: string; isCited: boolean }) {
  return (
    <section id={`chunk-${index}`} class={isCited ? 'passage cited' : 'passage'} aria-current={isCited || undefined}>
      {isCited && (
        <div class="passage-place">
          <span>{t('Cited passage')}</span>
          <a href={`#${index}`}>{t('Chunk {number}', { number: index + 1 })}</a>
        </div>
      )}
      <div class="text">{text}</div>
    </section>
  );
}

/** Describe the page, slide, sheet or file of a chunk in words. */
export function placeOf({ page, page_end: pageEnd, slide, sheet, file }: Locator): string {
  const parts = [
    ...(file === undefined ? [] : [file]),
    ...(sheet === undefined ? [] : [t('Sheet {name}', { name: sheet })]),
    ...(slide === undefined ? [] : [t('Slide {number}', { number: slide })]),
  ];
  if (slide === undefined && page !== null) {
    parts.push(
      pageEnd != null && pageEnd !== page
        ? t('Pages {first} to {last}', { first: page, last: pageEnd })
        : t('Page {number}', { number: page }),
    );
  }
  return parts.join(' · ');
}
