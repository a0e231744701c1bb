const PATHS = {
  documents: 'M6 3h8l4 4v14H6zM14 3v5h4M9 13h6M9 17h6',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l5 5',
  ask: 'M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5h.01M4 12a8 8 0 1 1 3 6.2L4 20l1-3.6',
  thumbUp: 'M7 11v9H4v-9zM7 11l4-7a2 2 0 0 1 2 2v4h6l-1.5 8.5a2 2 0 0 1-2 1.5H7',
  thumbDown: 'M17 13V4h3v9zM17 13l-4 7a2 2 0 0 1-2-2v-4H5l1.5-8.5a2 2 0 0 1 2-1.5H17',
  jobs: 'M4 6h10M4 12h16M4 18h7M18 4l2 2-2 2',
  metadata: 'M4 7l4 5-4 5M11 17h9',
  models: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  usage: 'M5 20V10M12 20V4M19 20v-7',
  insight: 'M3 17l6-6 4 4 8-9M15 6h6v6',
  system: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  keys: 'M8 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 12h9v4M17 12v3',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.5a3.5 3.5 0 0 1 0 6.5M17.5 14.3c2.1.8 3.5 3 3.5 5.7',
  overview: 'M4 4h7v7H4zM13 4h7v4h-7zM13 11h7v9h-7zM4 14h7v6H4z',
  channels: 'M4 5h16v11H10l-5 4v-4H4z',
  sources:
    'M12 4c4.4 0 8 1.3 8 3s-3.6 3-8 3-8-1.3-8-3 3.6-3 8-3zM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  workflows: 'M4 4h6v5H4zM14 15h6v5h-6zM7 9v8.5h7',
  webhooks: 'M4 12h9M9 7l5 5-5 5M17 4h3v16h-3',
  map: 'M5 18a1.5 1.5 0 1 0 0-.01M9 8a1.5 1.5 0 1 0 0-.01M14 14a1.5 1.5 0 1 0 0-.01M18 6a1.5 1.5 0 1 0 0-.01M20 17a1 1 0 1 0 0-.01',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  refresh: 'M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6',
  signOut: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9',
} as const;

export type IconName = keyof typeof PATHS;

/** Icon next to a text with the same meaning, hidden from screen readers. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.7"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export function BrandMark() {
  return (
    <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0b6456" />
      <path d="M9.5 21.5 16 11l6.5 10.5" fill="none" stroke="#fff" stroke-opacity=".55" stroke-width="1.5" />
      <circle cx="9.5" cy="21.5" r="3" fill="#fff" />
      <circle cx="16" cy="11" r="3" fill="#fff" />
      <circle cx="22.5" cy="21.5" r="3" fill="#9be0cf" />
    </svg>
  );
}
