import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import { Tabs } from '../../ui/page.tsx';

export function PeopleTabs({ current }: { current: 'keys' | 'people' | 'groups' | 'assistants' | 'organizations' }) {
  const tabs = [
    { page: 'keys', label: t('Keys') },
    { page: 'people', label: t('People') },
    ...(mayUse('groups:manage') ? [{ page: 'groups', label: t('Groups') }] : []),
    { page: 'assistants', label: t('Assistants') },
    ...(mayUse('platform_admin') ? [{ page: 'organizations', label: t('Organizations') }] : []),
  ];
  return (
    <Tabs
      label={t('Keys and people')}
      tabs={tabs.map(({ page, label }) => ({ label, href: linkTo(page), isCurrent: page === current }))}
    />
  );
}
