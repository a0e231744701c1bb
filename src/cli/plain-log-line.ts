/** Log fields to show in addition to the message. */
const SHOWN = ['reason', 'data_dir', 'redis', 'provider', 'url'];

/** Render a human-readable log line: level, message, subject and cause. */
export function plainLogLine(line: string): string {
  const { level, msg, err, ...rest } = JSON.parse(line) as Readonly<Record<string, unknown>> & {
    readonly err?: { readonly message?: string };
  };
  const facts = SHOWN.flatMap((name) => (rest[name] === undefined ? [] : [String(rest[name])]));
  const cause = err?.message === undefined ? [] : [err.message];
  const details = [...facts, ...cause].join(', ').replaceAll('\n', ' ');
  return `${level === 'warn' ? 'warning' : String(level)}: ${String(msg)}${details === '' ? '' : ` (${details})`}`;
}
