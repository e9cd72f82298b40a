/** Icons: drawn here, so that no font or sprite has to be fetched. They carry no meaning alone: words stand beside them. */

const DRAWINGS = {
  back: "M12 16 6 10l6-6",
  backup: "M10 13V4m0 0L6.5 7.5M10 4l3.5 3.5M3.5 13v1.5a2 2 0 0 0 2 2h9a2 2 0 0 0 2-2V13",
  check: "m4.5 10.5 3.5 3.5 7.5-8",
  clock: "M10 6v4l2.5 1.5M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0Z",
  close: "m5 5 10 10M15 5 5 15",
  compare: "M7 4v12m0 0-3-3m3 3 3-3M13 16V4m0 0-3 3m3-3 3 3",
  device: "M3 5.5a1 1 0 0 1 1-1h12a1 1 0 0 1 1 1V13H3V5.5ZM1.5 15.5h17",
  down: "m5 7.5 5 5 5-5",
  download: "M10 4v9m0 0 3.5-3.5M10 13 6.5 9.5M3.5 13v1.5a2 2 0 0 0 2 2h9a2 2 0 0 0 2-2V13",
  eye: "M1.8 10S4.6 4.8 10 4.8 18.2 10 18.2 10 15.4 15.2 10 15.2 1.8 10 1.8 10ZM12.2 10a2.2 2.2 0 1 1-4.4 0 2.2 2.2 0 0 1 4.4 0Z",
  "eye-off": "M3 3l14 14M8 5.1A8 8 0 0 1 10 4.8c5.4 0 8.2 5.2 8.2 5.2a14 14 0 0 1-2.2 2.8M5.3 6.6A13.6 13.6 0 0 0 1.8 10S4.6 15.2 10 15.2a8 8 0 0 0 3.7-.9M8.4 8.5a2.2 2.2 0 0 0 3.1 3.1",
  file: "M5 3h6.5L15.5 7v10H5V3Zm6.5 0v4h4",
  folder: "M2.5 15.5v-11h5l1.5 2h8.5v9h-15Z",
  forward: "m8 4 6 6-6 6",
  gallery: "M3.5 3.5h5v5h-5v-5Zm8 0h5v5h-5v-5Zm-8 8h5v5h-5v-5Zm8 0h5v5h-5v-5Z",
  image: "M3 4h14v12H3V4Zm0 9.5 4-4 3 3 2.5-2.5L17 14M13 7.5h.01",
  info: "M10 9v4.5M10 6.5h.01M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0Z",
  into: "M2.5 15.5v-11h5l1.5 2h8.5v9h-15ZM10 8.5v4.5m0 0 2-2m-2 2-2-2",
  link: "M8.5 11.5a3 3 0 0 0 4.2 0l2.6-2.6a3 3 0 0 0-4.2-4.2l-.9.9M11.5 8.5a3 3 0 0 0-4.2 0l-2.6 2.6a3 3 0 0 0 4.2 4.2l.9-.9",
  list: "M7 5.5h10M7 10h10M7 14.5h10M3.3 5.5h.01M3.3 10h.01M3.3 14.5h.01",
  lock: "M5 9h10v7.5H5V9Zm2 0V6.5a3 3 0 0 1 6 0V9",
  moon: "M16.5 11.8A6.8 6.8 0 1 1 8.2 3.5a5.4 5.4 0 0 0 8.3 8.3Z",
  offline: "M3 3l14 14M6 7.1A4 4 0 0 0 6 15h8.5M9 5.1a4.5 4.5 0 0 1 5.5 4 3 3 0 0 1 2.3 4.7",
  pause: "M7 4.5v11M13 4.5v11",
  pin: "M7 3h6l-.8 5 2.3 3h-9l2.3-3L7 3Zm3 8v6",
  play: "M6.5 4v12l9-6-9-6Z",
  plus: "M10 4v12M4 10h12",
  restore: "M3.5 10a6.5 6.5 0 1 0 2-4.7L3.5 7.2M3.5 3.5v3.7h3.7",
  search: "m16.5 16.5-3.7-3.7M14.5 9a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0Z",
  settings: "M3 6h7m4 0h3M3 14h3m4 0h7M10 6a2 2 0 1 0 4 0 2 2 0 0 0-4 0ZM6 14a2 2 0 1 0 4 0 2 2 0 0 0-4 0Z",
  shield: "M10 2.8 4 5v4.5c0 3.7 2.5 6.4 6 7.7 3.5-1.3 6-4 6-7.7V5l-6-2.2ZM7.3 9.9l2 2 3.6-3.9",
  special: "M10 3.5 16 7v6l-6 3.5L4 13V7l6-3.5Z",
  status: "M3 16.5h14M5 13.5V9.5M10 13.5v-9M15 13.5v-6",
  sun: "M10 2.5v1.7M10 15.8v1.7M2.5 10h1.7M15.8 10h1.7M4.7 4.7l1.2 1.2M14.1 14.1l1.2 1.2M4.7 15.3l1.2-1.2M14.1 5.9l1.2-1.2M13.3 10a3.3 3.3 0 1 1-6.6 0 3.3 3.3 0 0 1 6.6 0Z",
  tag: "M3 3.5h6.2l7.3 7.3-5.7 5.7L3.5 9.2 3 3.5Zm3.6 3.6h.01",
  trash: "M3.5 5.5h13M8 5.5v-2h4v2M5.5 5.5l.7 11h7.6l.7-11M8.5 8.5v5M11.5 8.5v5",
  up: "m5 12.5 5-5 5 5",
  warning: "M10 7.5V11M10 13.7h.01M10 3 2.2 16.5h15.6L10 3Z",
} as const;

export type IconName = keyof typeof DRAWINGS;

/** They follow the direction of writing. */
const POINTING: ReadonlySet<IconName> = new Set(["back", "forward", "list"]);

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class={POINTING.has(name) ? "icon-drawing pointing" : "icon-drawing"} width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={DRAWINGS[name]} />
    </svg>
  );
}

/** The mark: a drop of resin that holds something for a long time. */
export function Mark({ size = 28 }: { size?: number }) {
  return (
    <svg class="icon-drawing" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path class="mark-body" d="M16 2.5c1.7 4.3 9.5 9.6 9.5 17A9.5 9.5 0 0 1 16 29.5a9.5 9.5 0 0 1-9.5-10c0-7.4 7.8-12.7 9.5-17Z" />
      <path class="mark-glint" d="M11.2 20.2a5 5 0 0 0 4 5" fill="none" stroke-width="2" stroke-linecap="round" />
      <rect class="mark-core" x="13.5" y="14.5" width="6.2" height="6.2" rx="1.3" transform="rotate(18 16.6 17.6)" />
    </svg>
  );
}
