import { helpOf } from '../lib/help.ts';
import { t } from '../lib/i18n.ts';
import { usePlace } from '../lib/router.ts';

/** Purpose of a page, with links to its documentation and to its part of the API reference. */
export function HelpLinks() {
  const { segments } = usePlace();
  const help = helpOf(segments);
  if (help === null) return null;
  return (
    <details class="help">
      <summary class="button quiet">{t('Help')}</summary>
      <div class="help-body">
        <p>{t(help.text)}</p>
        <a href={`/help/docs/${help.document}.html`} target="_blank" rel="noreferrer">
          {t('Read the documentation')}
        </a>
        <a href={`/docs#/${help.reference}`} target="_blank" rel="noreferrer">
          {t('Open the API reference')}
        </a>
      </div>
    </details>
  );
}
