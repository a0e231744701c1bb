/**
 * Probe that is loaded into a server (`node --import`) to measure the delay of its event loop by its own work, as
 * opposed to other processes: a timer of 10 ms records how late it fires and the CPU time of the thread since it last
 * fired. If another process had the core, the first is long and the second is short. A message over IPC asks for the
 * figures since the last message.
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
