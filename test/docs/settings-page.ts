/** Generator of docs/settings.md from the schema of service.yaml: `node test/docs/settings-page.ts --write`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { listReference, type SettingReference } from '../../src/platform/settings-reference.ts';

const PAGE = new URL('../../docs/settings.md', import.meta.url);

const HEAD = `# Settings

The settings are read from \`service.yaml\` in the data directory, or from the file that \`SERVICE_CONFIG\` names. Variables of
the environment take precedence over the file, and flags over both. \`\${NAME}\` in a text of the file stands for a variable;
inside braces it needs quotes: \`{api_key: "\${NAME}"}\`. Restart the service after a change of the file.
\`service config check\` prints the settings in force and where each comes from, \`service config example\` prints this page as
a file, and \`service init\` writes a file for one vendor. This page is generated from the schema of the file by
\`npm run docs:settings\`.

\`<name>\` stands for a name of your choice, and \`[]\` for an item of a list.
`;

/** Render the page: one table for the settings without a group, and one for each group. */
export function renderSettingsPage(): string {
  const settings = listReference();
  const isSingle = ({ path, isGroup }: SettingReference) => path.length === 1 && !isGroup;
  const groups = settings.filter(({ path, isGroup }) => path.length === 1 && isGroup);
  const parts = groups.map((group) => {
    const own = settings.filter(({ path, isGroup }) => path[0] === group.path[0] && !isGroup);
    const sentence = group.description.charAt(0).toUpperCase() + group.description.slice(1);
    return `\n## ${group.path[0]}\n\n${sentence}.\n\n${tableOf(own)}`;
  });
  return `${HEAD}\n## Single settings\n\n${tableOf(settings.filter(isSingle))}${parts.join('')}`;
}

function tableOf(settings: readonly SettingReference[]): string {
  const rows = settings.map(({ path, description, allowed, default: value, variable, isRequired }) => {
    const name = path.join('.').replaceAll('.[]', '[]');
    const named = variable === null ? `\`${name}\`` : `\`${name}\`, \`${variable}\``;
    const fallback = value === null ? (isRequired ? 'required' : '') : `\`${value}\``;
    return `| ${[named, description, allowed, fallback].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `| setting, variable | meaning | allowed | default |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

/** Return the page as it is in the checkout. */
export function currentSettingsPage(): string {
  return readFileSync(PAGE, 'utf8');
}

if (import.meta.main && process.argv.includes('--write')) writeFileSync(PAGE, renderSettingsPage());
