import { useMemo } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatDuration } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import type { SearchResponse } from '../../types.ts';
import { ActionError, Button, Warnings } from '../../ui/controls.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded, Loading } from '../../ui/states.tsx';
import { type Answer, searchAll } from './answers.ts';
import { Filters } from './filters.tsx';
import { RequestCode } from './request-panel.tsx';
import { Result } from './result.tsx';
import { MODE_NAMES, readForm, type SearchForm, writeForm } from './search-form.ts';
import { SearchRating } from './search-rating.tsx';
import { Verdict } from './verdict.tsx';

/** Page `/console/search`: a search in up to three modes side by side. */
export default function SearchPage({ place }: PageProps) {
  const form = useMemo(() => readForm(place.query), [place.query]);
  const isAsked = form.bucket !== '' && form.query !== '';
  const answers = useResource(isAsked ? writeForm(form) : null, (signal) => searchAll(form, signal));
  const search = (next: SearchForm) => {
    const address = `${linkTo('search')}?${writeForm(next)}`;
    if (address === location.pathname + location.search) answers.refresh();
    else navigate(address);
  };
  return (
    <div class="page">
      <PageHeader title={t('Search')}>{t('Ask a question, and find the passages that answer it.')}</PageHeader>
      <Filters key={writeForm(form)} form={form} isBusy={answers.isLoading} onSearch={search} />
      {!isAsked ? (
        <Panel>
          <Empty title={t('Ask something')}>{t('Choose a bucket and type a query.')}</Empty>
        </Panel>
      ) : (
        <Panel>
          <Loaded of={answers}>
            {(list) => <Answers answers={list} form={form} onAsSpelled={() => search({ ...form, correct: false })} />}
          </Loaded>
        </Panel>
      )}
      {isAsked && <RequestCode form={form} />}
    </div>
  );
}

interface AnswersProps {
  readonly answers: readonly Answer[];
  readonly form: SearchForm;
  readonly onAsSpelled: () => void;
}

function Answers({ answers, form, onAsSpelled }: AnswersProps) {
  return (
    <>
      <Verdict answers={answers} />
      <div class={answers.length > 1 ? 'columns joined' : undefined}>
        {answers.map((answer) => (
          <section key={answer.mode} aria-label={t(MODE_NAMES[answer.mode])}>
            <div class="panel-title">
              <h2>{t(MODE_NAMES[answer.mode])}</h2>
              <span class="faint">{summaryOf(answer)}</span>
            </div>
            <AnswerResults answer={answer} form={form} onAsSpelled={onAsSpelled} />
          </section>
        ))}
      </div>
    </>
  );
}

function summaryOf({ response, ms }: Answer): string {
  const count = response && t('{count|result|results}', { count: response.results.length });
  return [count, formatDuration(ms), response?.model].filter(Boolean).join(' · ');
}

interface AnswerResultsProps {
  readonly answer: Answer;
  readonly form: SearchForm;
  readonly onAsSpelled: () => void;
}

function AnswerResults({ answer, form, onAsSpelled }: AnswerResultsProps) {
  const { response, error } = answer;
  if (error) {
    return (
      <div class="panel-body">
        <ActionError error={error} />
      </div>
    );
  }
  if (response === null || response.results.length === 0) {
    return <NothingFound bucket={form.bucket} />;
  }
  const { search_id: searchId } = response;
  const isMixed = new Set(response.results.map(({ relevance }) => relevance)).size > 1;
  return (
    <>
      <Notes response={response} onAsSpelled={onAsSpelled} />
      <ol>
        {response.results.map((result, at) => (
          <Result
            key={result.id}
            result={result}
            searchId={searchId}
            rank={at + 1}
            query={form.query}
            showsRelevance={isMixed}
          />
        ))}
      </ol>
      {searchId !== null && <SearchRating key={searchId} searchId={searchId} />}
    </>
  );
}

/** Reason why there are no results: the bucket has no documents, or none matches. */
function NothingFound({ bucket }: { bucket: string }) {
  const documents = useResource(`any document of ${bucket}`, (signal) =>
    call<Page<unknown>>(pathOf('v1', 'buckets', bucket, 'documents'), { query: { limit: 1 }, signal }),
  );
  if (documents.isLoading) return <Loading />;
  if (documents.data?.data.length === 0)
    return <Empty title={t('This bucket is empty')}>{t('Upload documents to it, and then search again.')}</Empty>;
  return <Empty title={t('Nothing was found')}>{t('Try other words, another mode or fewer conditions.')}</Empty>;
}

/** Remarks on a response: warnings and corrected words. */
function Notes({ response, onAsSpelled }: { response: SearchResponse; onAsSpelled: () => void }) {
  const { warnings, corrected } = response;
  if (warnings.length === 0 && corrected.length === 0) return null;
  return (
    <div class="panel-body stack tight">
      <Warnings of={warnings} />
      {corrected.length > 0 && (
        <div class="row spread" role="status">
          <span>
            {corrected.map(({ from, to }) => (
              <span class="sub" key={from}>
                {t('Searched for “{to}” in place of “{from}”', { from, to })}
              </span>
            ))}
          </span>
          <Button small look="quiet" onClick={onAsSpelled}>
            {t('Search as it is spelled')}
          </Button>
        </div>
      )}
    </div>
  );
}
