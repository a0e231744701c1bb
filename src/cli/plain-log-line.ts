/** Fields of a log line that a person needs besides the message. */
const SHOWN = ['reason', 'data_dir', 'redis', 'provider', 'url'];

/** Render a log line for people: level, message, subject and cause. */
export function plainLogLine(line: string): string {
  const { level, msg, err, ...rest } = JSON.parse(line) as Readonly<Record<string, unknown>> & {
    readonly err?: { readonly message?: string };
  };
  const facts = SHOWN.flatMap((name) => (rest[name] === undefined ? [] : [String(rest[name])]));
  const cause = err?.message === undefined ? [] : [err.message];
  const details = [...facts, ...cause].join(', ').replaceAll('\n', ' ');
  return `${level === 'warn' ? 'warning' : String(level)}: ${String(msg)}${details === '' ? '' : ` (${details})`}`;
}
