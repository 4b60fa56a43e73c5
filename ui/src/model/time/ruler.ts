// Chooses the ruler's ticks and their labels. No label appears twice: from 1 ms a tick on they show the time since the
// first event; below that, the distance from a moment that the ruler names at its left end.

import { clock, grouped } from '../words/format.ts';
import type { TimeWindow } from './time_window.ts';

export interface Tick {
  ns: number;
  label: string;
}

export interface Ruler {
  stepNs: number;
  /** The moment that "+12 µs" counts from; null if the labels show the time itself. */
  anchor: { ns: number; label: string } | null;
  ticks: Tick[];
}

const kLadderSeconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The smallest round step that is at least `ns`. */
export function pleasantStep(ns: number): number {
  if (ns <= 1) return 1;
  if (ns > 0.5e9) {
    for (const seconds of kLadderSeconds) if (seconds * 1e9 >= ns) return seconds * 1e9;
    return Math.ceil(ns / 86400e9) * 86400e9;
  }
  const power = 10 ** Math.floor(Math.log10(ns) + 1e-9);
  for (const factor of [1, 2, 5]) if (power * factor >= ns * (1 - 1e-9)) return power * factor;
  return power * 10;
}

function decimalsOf(stepNs: number, unitNs: number): number {
  let decimals = 0;
  while (decimals < 9 && Math.abs((stepNs / unitNs) * 10 ** decimals - Math.round((stepNs / unitNs) * 10 ** decimals)) > 1e-6)
    decimals += 1;
  return decimals;
}

/** A time with as many decimals as a step needs: "1:02.35", "12.5 s". */
export function timeLabel(ns: number, stepNs: number): string {
  const decimals = stepNs >= 1e9 ? 0 : decimalsOf(stepNs, 1e9);
  const sign = ns < 0 ? '−' : '';
  const units = Math.round(Math.abs(ns) / (1e9 / 10 ** decimals));
  const seconds = Math.floor(units / 10 ** decimals);
  const rest = decimals === 0 ? '' : `.${(units % 10 ** decimals).toString().padStart(decimals, '0')}`;
  return `${sign}${clock(seconds)}${rest}${seconds < 60 ? ' s' : ''}`;
}

function microsLabel(ns: number, stepNs: number): string {
  const decimals = decimalsOf(stepNs, 1e3);
  const micros = Math.abs(ns) / 1e3;
  const text = decimals === 0 ? grouped(Math.round(micros)) : micros.toFixed(decimals);
  return `${ns < 0 ? '−' : ''}${text} µs`;
}

/** `origin` is where the labels count from. */
export function rulerOf({ begin, end }: TimeWindow, widthPx: number, origin = 0, labelPx = 96): Ruler {
  const window = { begin: begin - origin, end: end - origin };
  const length = window.end - window.begin;
  const stepNs = pleasantStep((length * labelPx) / Math.max(widthPx, 1));
  const first = Math.ceil(window.begin / stepNs);
  const last = Math.floor(window.end / stepNs);
  const fine = stepNs < 1e6;
  // Near the origin no moment needs to be named: the labels show the time itself.
  const anchorNs = fine ? Math.max(Math.floor(window.begin / 1e6) * 1e6, 0) : 0;
  const named = anchorNs > 0;
  const ticks: Tick[] = [];
  for (let at = first; at <= last && ticks.length < 200; at += 1) {
    const ns = at * stepNs;
    ticks.push({ ns: origin + ns, label: fine ? `${named ? '+' : ''}${microsLabel(ns - anchorNs, stepNs)}` : timeLabel(ns, stepNs) });
  }
  return { stepNs, anchor: named ? { ns: origin + anchorNs, label: timeLabel(anchorNs, 1e6) } : null, ticks };
}
