/**
 * Loaded into a server (`node --import`) to tell what its own work, and not the machine's, delays its event loop by: a
 * timer of 10 ms that looks how late it is, and how much CPU time the thread spent since it last fired. Where another
 * process had the core, the first is long and the second is not. A message over IPC asks for the figures since the last.
 */
const EVERY_MS = 10;
let lateMs: number[] = [];
let ownMs: number[] = [];
let lastMs = performance.now();
let lastCpuMs = cpuMs();

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

setInterval(() => {
  const [nowMs, nowCpuMs] = [performance.now(), cpuMs()];
  const late = Math.max(0, nowMs - lastMs - EVERY_MS);
  lateMs.push(late);
  ownMs.push(Math.min(late, nowCpuMs - lastCpuMs));
  [lastMs, lastCpuMs] = [nowMs, nowCpuMs];
}, EVERY_MS).unref();

process.on('message', () => {
  process.send?.({ late: lateMs, own: ownMs });
  [lateMs, ownMs] = [[], []];
});
process.channel?.unref();
