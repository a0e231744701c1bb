import { useState } from 'preact/hooks';
import { pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Button } from '../../ui/controls.tsx';
import { asCurl, asPython, asTypeScript } from './request-code.ts';
import { bodyOf, type SearchForm } from './search-form.ts';

const LANGUAGES = { curl: asCurl, Python: asPython, TypeScript: asTypeScript } as const;
type CodeLanguage = keyof typeof LANGUAGES;

export function RequestCode({ form }: { form: SearchForm }) {
  const [language, setLanguage] = useState<CodeLanguage>('curl');
  const request = {
    url: `${location.origin}${pathOf('v2', 'buckets', form.bucket, 'search')}`,
    body: bodyOf(form, form.modes[0] ?? 'hybrid'),
  };
  const buttons = (Object.keys(LANGUAGES) as CodeLanguage[]).map((name) => (
    <Button
      key={name}
      small
      look={name === language ? 'plain' : 'quiet'}
      aria-pressed={name === language}
      onClick={() => setLanguage(name)}
    >
      {name}
    </Button>
  ));
  return (
    <details class="panel padded">
      <summary>{t('The same request')}</summary>
      <div class="stack search-options">
        <div class="row">{buttons}</div>
        <CodeBlock code={LANGUAGES[language](request)} label={language} />
      </div>
    </details>
  );
}
