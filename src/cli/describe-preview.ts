import type { SourcePreview } from '../memory/schema.ts';

/** Describe the preview of a source in sentences, one per line. */
export function describePreview(preview: SourcePreview): string[] {
  const { entries_count: count, is_complete: isComplete, changes, faults, faults_count: faultsCount } = preview;
  const number = (value: number) => value.toLocaleString('en');
  const price = preview.cost_usd === null ? '' : `, $${preview.cost_usd.toFixed(2)} with the model in use`;
  const lines = [
    `${isComplete ? '' : 'more than '}${number(count)} ${count === 1 ? 'entry' : 'entries'}, ${number(preview.size_bytes)} bytes`,
    `roughly ${number(preview.tokens)} tokens in ${number(preview.chunks)} chunks${price}`,
  ];
  if (!isComplete) lines.push('listing the source took longer than 15 seconds, so there are more entries');
  if (changes !== null) {
    const { added, changed, removed, unchanged } = changes;
    lines.push(
      `a synchronisation would add ${number(added)}, read ${number(changed)} again, remove ${number(removed)} and leave ${number(unchanged)}`,
    );
  }
  if (faultsCount > 0) lines.push(`${number(faultsCount)} cannot be read:`);
  for (const { key, is_folder: isFolder, fault } of faults) lines.push(`  ${key}${isFolder ? '/' : ''}: ${fault}`);
  return lines;
}
