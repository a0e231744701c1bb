import { t } from '../lib/i18n.ts';
import { type Failure, originalReasonOf, reasonOf } from '../lib/reason.ts';

/** Reason of a failure, with the service's English details if it is translated. */
export function Reason({ of }: { of: Failure }) {
  const original = originalReasonOf(of);
  return (
    <>
      <span>{reasonOf(of)}</span>
      {original !== null && <span class="sub">{t('Details: {text}', { text: original })}</span>}
    </>
  );
}
