import { listReference, type SettingReference } from '../platform/settings-reference.ts';

const HEAD = `# Settings of the service: each with its meaning, what is allowed, and its default.
# Remove "# " before what you want to change, and before the names above it. In a text, a dollar sign and a name in braces
# stand for a variable of the environment.
`;

/** Render all settings as a fully commented-out service.yaml. */
export function renderConfigExample(): string {
  const settings = listReference();
  return HEAD + settings.map((setting, index) => renderSetting(setting, settings[index - 1])).join('');
}

function renderSetting(setting: SettingReference, before: SettingReference | undefined): string {
  const { path } = setting;
  const name = path.at(-1) as string;
  if (name === '[]') return '';
  const indent = '  '.repeat(path.length - 1);
  const isFirstOfItem = before?.path.at(-1) === '[]' && path.at(-2) === '[]';
  const begin = isFirstOfItem ? `${indent.slice(2)}- ` : indent;
  const note = noteOf(setting);
  const comment = note === '' ? '' : `# ${indent}# ${note}\n`;
  const value = setting.default === null ? '' : ` ${setting.default}`;
  return `${path.length === 1 ? '\n' : ''}${comment}# ${begin}${name === '<name>' ? 'name' : name}:${value}\n`;
}

/** Render the description, allowed values and variable of a setting on one line. */
function noteOf({ description, allowed, variable, isGroup, isRequired }: SettingReference): string {
  const facts = [
    ...(isGroup ? [] : [allowed]),
    ...(isRequired ? ['required'] : []),
    ...(variable === null ? [] : [`variable ${variable}`]),
  ];
  return [description, ...(facts.length === 0 ? [] : [`(${facts.join('; ')})`])].join(' ').trim();
}
