import { Gauge, type Registry } from 'prom-client';
import type { RunnerState } from './runtime/model-runner.ts';

/** Define the metrics of the processes of local models. @returns a function that stops reporting */
export function openRunnerMetrics(registry: Registry, read: () => readonly RunnerState[]): () => void {
  let isOpen = true;
  const gauge = (name: string, help: string, numberOf: (state: RunnerState) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['model'],
      registers: [registry],
      collect() {
        this.reset();
        if (isOpen) for (const state of read()) this.set({ model: state.name }, numberOf(state));
      },
    });
  gauge(
    'service_local_model_memory_bytes',
    'Resident memory of the process of a local model; 0: it is not loaded.',
    (state) => state.residentBytes,
  );
  gauge(
    'service_local_model_queued_texts',
    'Texts that wait for a local model or are in progress.',
    (state) => state.textsQueued,
  );
  gauge('service_local_model_deaths', 'Crashes of the process of a local model.', (state) => state.deaths);
  return () => {
    isOpen = false;
  };
}
