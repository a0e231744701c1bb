/**
 * Script that renders README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ as static pages:
 * `node src/console/site.ts [DIR]` (default: site/). The pages have no script, load nothing from elsewhere, and work
 * from a folder or a web server.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import MarkdownIt from 'markdown-it';

const ROOT = path.join(import.meta.dirname, '../..');
const TOP = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
/** Page that groups the pages of docs/. */
const INDEX = 'docs/README.md';
/** Tutorial, how-to guides, reference, explanation, for contributors. */
const GROUPS = 5;
const IMAGES = /\.(?:png|svg|jpe?g|webp)$/;

const STYLE = `:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
* { box-sizing: border-box; }
body { display: grid; grid-template-columns: 16rem minmax(0, 50rem); gap: 2rem; margin: 0; padding: 1.5rem; font: 16px/1.6 system-ui, sans-serif; }
nav { border-right: 1px solid var(--line); padding-right: 1rem; font-size: .9rem; }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav [aria-current] { font-weight: 600; }
main { overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .75rem 1rem; overflow-x: auto; }
code { background: var(--soft); padding: .1em .3em; }
pre code { background: none; padding: 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
@media (max-width: 50rem) { body { grid-template-columns: minmax(0, 1fr); padding: 1rem; } nav { border: 0; } }
`;

/** Page of the site, by the path of its source relative to the project. */
interface SitePage {
  readonly source: string;
  readonly title: string;
  readonly html: string;
}

/** Render all pages into an empty folder. @returns paths of the pages, relative to it */
export function buildSite(folder: string): string[] {
  rmSync(folder, { recursive: true, force: true });
  const docs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (name) => `docs/${name}`,
  );
  const sources = [...TOP, ...docs.filter((name) => name.endsWith('.md')).toSorted()];
  const pages = sources.map(readPage);
  for (const page of pages) write(folder, toHtmlPath(page.source), layout(page, pages));
  for (const name of docs.filter((each) => IMAGES.test(each))) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    copyFileSync(path.join(ROOT, name), path.join(folder, name));
  }
  write(folder, 'style.css', STYLE);
  return pages.map(({ source }) => toHtmlPath(source));
}

function toHtmlPath(source: string): string {
  return source.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html');
}

function readPage(source: string): SitePage {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const text = readFileSync(path.join(ROOT, source), 'utf8').replaceAll(/<!--[\s\S]*?-->\n?/g, '');
  const slugs = new Map<string, number>();
  let title = source;
  markdown.core.ruler.push('site', ({ tokens }) => {
    for (const [i, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const heading = tokens[i + 1]?.content ?? '';
        if (token.tag === 'h1') title = heading.replaceAll('`', '');
        token.attrSet('id', slugOf(heading, slugs));
      }
      for (const child of token.children ?? []) {
        const href = child.type === 'link_open' ? child.attrGet('href') : null;
        if (href !== null && href !== undefined) child.attrSet('href', toSiteLink(String(href)));
      }
    }
  });
  const html = markdown
    .render(text)
    .replaceAll('<table>', '<div class="table"><table>')
    .replaceAll('</table>', '</table></div>');
  return { source, title, html };
}

/** Convert a link to a Markdown file to a link to its page. Leave links to other project files unchanged. */
function toSiteLink(href: string): string {
  if (/^[a-z][a-z0-9+.-]*:|^#/i.test(href)) return href;
  const [file = '', anchor] = href.split('#');
  return toHtmlPath(file) + (anchor === undefined ? '' : `#${anchor}`);
}

/** Read the page groups and their order from the docs index: tutorial, guides, reference, explanation. */
function readIndex(): (readonly [string, (source: string) => boolean])[] {
  const [, ...sections] = readFileSync(path.join(ROOT, INDEX), 'utf8').split(/^## /m);
  return sections.slice(0, GROUPS).map((section) => {
    const [title = ''] = section.split('\n', 1);
    const names = [...section.matchAll(/\]\(([\w-]+\.md)[#)]/g)].map(([, name]) => `docs/${name}`);
    return [title, (source) => names.includes(source)];
  });
}

/** Create a heading's anchor as GitHub does, so that links work in both places. */
function slugOf(heading: string, slugs: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
  const earlier = slugs.get(slug) ?? 0;
  slugs.set(slug, earlier + 1);
  return earlier === 0 ? slug : `${slug}-${earlier}`;
}

function layout(page: SitePage, pages: readonly SitePage[]): string {
  const at = path.dirname(page.source);
  const to = (target: string) => path.relative(at, target) || path.basename(target);
  const entry = ({ source, title }: SitePage) => {
    const current = source === page.source ? ' aria-current="page"' : '';
    return `<li><a href="${to(toHtmlPath(source))}"${current}>${escapeHtml(title)}</a></li>`;
  };
  const groups: readonly (readonly [string, (source: string) => boolean])[] = [
    ['Project', (source) => !source.includes('/') || source === INDEX],
    ...readIndex(),
    ['Clients', (source) => source.startsWith('docs/clients/')],
    ['Commands', (source) => source.startsWith('docs/cli/')],
    ['Decisions', (source) => source.startsWith('docs/decisions/')],
    ['Research', (source) => source.startsWith('docs/research/')],
  ];
  const navigation = groups.map(([name, isIn]) => {
    return `<strong>${name}</strong><ul>${pages
      .filter(({ source }) => isIn(source))
      .map(entry)
      .join('')}</ul>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'">
<title>${escapeHtml(page.title)}</title>
<link rel="stylesheet" href="${to('style.css')}">
</head>
<body>
<nav aria-label="Pages">${navigation.join('\n')}</nav>
<main>
${page.html}</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function write(folder: string, name: string, text: string): void {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (import.meta.main) {
  const folder = path.resolve(process.argv[2] ?? path.join(ROOT, 'site'));
  process.stdout.write(`rendered ${buildSite(folder).length} pages into ${folder}\n`);
}
