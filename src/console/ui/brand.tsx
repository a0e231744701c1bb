import { t } from '../lib/i18n.ts';
import { installation } from '../lib/installation.ts';
import { useStore } from '../lib/store.ts';
import { BrandMark } from './icons.tsx';

/** Logo and name of the installation, or those of the console. */
export function Brand() {
  const known = useStore(installation);
  return (
    <>
      {known?.logo == null ? <BrandMark /> : <img class="brand-mark" src={known.logo} alt="" />}
      {brandName()}
    </>
  );
}

/** Name of the installation. */
export function brandName(): string {
  return installation.get()?.name ?? t('Console');
}
