// Formats numbers for people.

const grouping = new Intl.NumberFormat('en-US');

export function grouped(number: number): string {
  return grouping.format(number);
}

export function counted(number: number, one: string, many: string): string {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

/** Three significant digits: "431 ns", "43.1 µs", "4.31 ms", "2 min 5 s". */
export function duration(ns: number): string {
  const length = Math.abs(ns);
  if (length < 1e3) return `${Math.round(ns)} ns`;
  if (length < 1e6) return `${digits(ns / 1e3)} µs`;
  if (length < 1e9) return `${digits(ns / 1e6)} ms`;
  if (length < 60e9) return `${digits(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  const parts: [number, string][] = [
    [Math.trunc(seconds / 86400), 'd'],
    [Math.trunc(seconds / 3600) % 24, 'h'],
    [Math.trunc(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const from = parts.findIndex(([value]) => value !== 0);
  return parts
    .slice(from, from + 2)
    .filter(([value]) => value !== 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ');
}

/** The time of so many events; nobody times those of compiled graphs, for instance. */
export function timeOf(ns: number, events: number): string {
  return ns === 0 && events > 0 ? 'not timed' : duration(ns);
}

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

const signOf = (value: number) => (value > 0 ? '+' : value < 0 ? '−' : '');

export function signedDuration(ns: number): string {
  return `${signOf(ns)}${duration(Math.abs(ns))}`;
}

export function signedCount(count: number): string {
  return `${signOf(count)}${grouped(Math.abs(count))}`;
}

export function signedBytes(count: number): string {
  return `${signOf(count)}${bytes(Math.abs(count))}`;
}

/** In powers of ten, as in the reports: "144 kB". */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  let size = count;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at === 0 ? size : digits(size)} ${units[at]}`;
}

/** A number without a unit, such as a loss: "0.1234", "65,536", "1.2e-7". */
export function real(value: number): string {
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
  return value.toLocaleString('en-US', { maximumSignificantDigits: size >= 1e4 ? 9 : 4 });
}

export function percent(share: number): string {
  if (share > 0 && share < 0.01) return '<1 %';
  return `${Math.round(share * 100)} %`;
}

/** A moment of the run, exact to the ns: "1:02:03.004 005 006". */
export function moment(ns: number): string {
  if (ns < 0) return `−${moment(-ns)}`;
  const whole = Math.floor(ns / 1e9);
  const rest = Math.round(ns - whole * 1e9)
    .toString()
    .padStart(9, '0');
  return `${clock(whole)}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)}`;
}

/** Whole seconds as a clock: "7", "1:05", "2:00:05", "3 d 4:00:00". */
export function clock(seconds: number): string {
  const two = (value: number) => value.toString().padStart(2, '0');
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = seconds % 60;
  if (days > 0) return `${days} d ${hours}:${two(minutes)}:${two(rest)}`;
  if (hours > 0) return `${hours}:${two(minutes)}:${two(rest)}`;
  if (minutes > 0) return `${minutes}:${two(rest)}`;
  return `${rest}`;
}

/** Keeps the end of a path, which tells files apart. */
export function shortPath(file: string, cwd: string): string {
  if (cwd !== '' && file.startsWith(`${cwd}/`)) return file.slice(cwd.length + 1);
  const packages = file.lastIndexOf('-packages/');
  return packages >= 0 ? file.slice(packages + 10) : file;
}

export function place(at: { file: string | null; line: number | null }, cwd: string): string {
  return at.file === null ? 'no Python line' : `${shortPath(at.file, cwd)}:${at.line ?? '?'}`;
}

/** The number in "step 12"; null for other texts. */
export function stepOf(text: string): number | null {
  const found = /^step\s+#?(\d+)$/i.exec(text.trim());
  return found && Number(found[1]) < 2 ** 32 ? Number(found[1]) : null;
}
