import { createStore, useStore } from '../lib/store.ts';

const SHOWN_MS = 5000;
const SHOWN_MAX = 4;

const toasts = createStore<readonly { readonly id: number; readonly text: string }[]>([]);
let nextId = 1;

/** Show a confirmation of an action for some seconds. */
export function toast(text: string): void {
  const id = nextId;
  nextId += 1;
  toasts.set([...toasts.get().slice(1 - SHOWN_MAX), { id, text }]);
  setTimeout(() => toasts.set(toasts.get().filter((each) => each.id !== id)), SHOWN_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useStore(toasts).map(({ id, text }) => (
        <div key={id} class="toast">
          {text}
        </div>
      ))}
    </div>
  );
}
