import type { Load, PageModule } from '../routes.ts';
import { ApiError } from './api.ts';
import { isAnswering } from './events.ts';
import { t } from './i18n.ts';

/**
 * Load the file of a page. It is gone after an upgrade of the service; a reload then finds the new files. A reload
 * happens only while the service answers, and once for a page until it could be loaded: a file that stays away, for
 * example because a proxy blocks it, would otherwise reload for ever.
 *
 * @param pattern address of the page in the table of pages
 * @throws ApiError `unreachable` if the service does not answer, `page_file` if only the file is missing
 */
export async function loadPage(pattern: string, load: Load): Promise<PageModule> {
  const mark = `reloaded:${pattern}`;
  try {
    const module = await load();
    sessionStorage.removeItem(mark);
    return module;
  } catch {
    if (!(await isAnswering())) throw new ApiError(0, '', { code: 'unreachable' });
    // The name of this script has the hash of the build, and a new build may reload again.
    if (sessionStorage.getItem(mark) === import.meta.url)
      throw new ApiError(0, t('Its file is missing or blocked.'), { code: 'page_file' });
    sessionStorage.setItem(mark, import.meta.url);
    location.reload();
    return new Promise(() => {});
  }
}
