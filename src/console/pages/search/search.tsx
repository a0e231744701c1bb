import { useMemo } from 'preact/hooks';
import { formatDuration } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import { ActionError, Warnings } from '../../ui/controls.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { type Answer, searchAll } from './answers.ts';
import { Filters } from './filters.tsx';
import { RequestCode } from './request-panel.tsx';
import { Result } from './result.tsx';
import { MODE_NAMES, readForm, type SearchForm, writeForm } from './search-form.ts';

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
      <PageHeader title={t('Search')}>{t('Try a query, and see why each result is there.')}</PageHeader>
      <Filters key={writeForm(form)} form={form} isBusy={answers.isLoading} onSearch={search} />
      {!isAsked ? (
        <Panel>
          <Empty title={t('Ask something')}>{t('Choose a bucket and type a query.')}</Empty>
        </Panel>
      ) : (
        <Panel>
          <Loaded of={answers}>{(list) => <Answers answers={list} form={form} />}</Loaded>
        </Panel>
      )}
      {isAsked && <RequestCode form={form} />}
    </div>
  );
}

function Answers({ answers, form }: { answers: readonly Answer[]; form: SearchForm }) {
  return (
    <div class={answers.length > 1 ? 'columns joined' : undefined}>
      {answers.map((answer) => (
        <section key={answer.mode} aria-label={t(MODE_NAMES[answer.mode])}>
          <div class="panel-title">
            <h2>{t(MODE_NAMES[answer.mode])}</h2>
            <span class="faint">{summaryOf(answer)}</span>
          </div>
          <AnswerResults answer={answer} query={form.query} />
        </section>
      ))}
    </div>
  );
}

function summaryOf({ response, ms }: Answer): string {
  const count = response?.results.length ?? 0;
  return [t('{count|result|results}', { count }), formatDuration(ms), response?.model].filter(Boolean).join(' · ');
}

function AnswerResults({ answer, query }: { answer: Answer; query: string }) {
  const { response, error } = answer;
  if (error) {
    return (
      <div class="panel-body">
        <ActionError error={error} />
      </div>
    );
  }
  if (response === null || response.results.length === 0) {
    return <Empty title={t('Nothing was found')}>{t('Try other words, another mode or fewer conditions.')}</Empty>;
  }
  return (
    <>
      {response.warnings.length > 0 && (
        <div class="panel-body">
          <Warnings of={response.warnings} />
        </div>
      )}
      <ol>
        {response.results.map((result, at) => (
          <Result key={result.id} result={result} rank={at + 1} query={query} />
        ))}
      </ol>
    </>
  );
}
