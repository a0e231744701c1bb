import type { Load, PageModule } from '../routes.ts';
import { ApiError } from './api.ts';
import { isAnswering } from './events.ts';
import { t } from './i18n.ts';

/**
 * Load the file of a page. After an upgrade of the service, the file is gone, and a reload finds the new files. Reload
 * only while the service responds, and only once per page until loading succeeds. Otherwise a permanently missing file,
 * for example one blocked by a proxy, would cause endless reloads.
 * @param pattern address of the page in the table of pages
 * @throws ApiError `unreachable` if the service doesn't respond, `page_file` if only the file is missing
 */
export async function loadPage(pattern: string, load: Load): Promise<PageModule> {
  const mark = `reloaded:${pattern}`;
  try {
    const module = await load();
    sessionStorage.removeItem(mark);
    return module;
  } catch {
    if (!(await isAnswering())) throw new ApiError(0, '', { code: 'unreachable' });
    // This script's name contains the build hash, so a new build may reload again.
    if (sessionStorage.getItem(mark) === import.meta.url)
      throw new ApiError(0, t('Its file is missing or blocked.'), { code: 'page_file' });
    sessionStorage.setItem(mark, import.meta.url);
    location.reload();
    return new Promise(() => {});
  }
}
