import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../lib/i18n.ts';
import { usePlace } from '../lib/router.ts';
import { brandName } from './brand.tsx';
import { HelpLinks } from './help-links.tsx';

export interface Crumb {
  readonly label: string;
  readonly href: string;
}

/** Path of the last page shown. Initially it is the URL's path, even if the user leaves before its page appears. */
let pathShown = location.pathname;

/** Title of a page. It is also the document title, and gets the focus when the user comes from another page. */
export function PageHeader({
  title,
  children,
  actions,
  crumbs = [],
}: {
  title: string;
  children?: ComponentChildren;
  actions?: ComponentChildren;
  crumbs?: readonly Crumb[];
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = usePlace();
  useEffect(() => {
    document.title = `${title} · ${brandName()}`;
  }, [title]);
  // Run before the page appears, so that it doesn't steal the focus from an element that the user chose.
  useLayoutEffect(() => {
    if (pathShown !== path) heading.current?.focus({ preventScroll: true });
    pathShown = path;
  }, [path]);
  return (
    <header class="page-header">
      <div>
        {crumbs.length > 0 && (
          <nav aria-label={t('Path')}>
            <ol class="breadcrumb">
              {crumbs.map(({ label, href }) => (
                <li key={href}>
                  <a href={href}>{label}</a>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children && <p>{children}</p>}
      </div>
      <div class="row">
        {actions}
        <HelpLinks />
      </div>
    </header>
  );
}

export function Panel({
  title,
  actions,
  children,
  padded,
}: {
  title?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  padded?: boolean;
}) {
  return (
    <section class="panel">
      {title && (
        <div class="panel-title">
          <h2>{title}</h2>
          {actions && <div class="row">{actions}</div>}
        </div>
      )}
      {padded ? <div class="panel-body">{children}</div> : children}
    </section>
  );
}

export interface Tab {
  readonly label: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

/** Links between the parts of a page. Each part has its own address. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ label: text, href, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}-value`}>{value}</dd>])}
    </dl>
  );
}

export function Tile({ label, value, note }: { label: string; value: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="tile">
      <span class="faint">{label}</span>
      <span class="value">{value}</span>
      {note && <span class="faint">{note}</span>}
    </div>
  );
}
