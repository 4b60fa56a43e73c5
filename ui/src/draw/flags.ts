// Marks: a flag with its name in the ruler, a line through the lanes.

import type { Mark } from '../model/time/marks.ts';
import { markNear } from '../model/time/marks.ts';
import type { State } from '../model/state.ts';
import { TimeScale } from '../model/time/time_window.ts';
import type { Ink, Surface } from './ink.ts';

const kFlagPx = 9;
const kMostNamePx = 90;

export function drawFlags(surface: Surface, state: State, ink: Ink): void {
  const { context } = surface;
  const scale = new TimeScale(state.window, surface.width);
  context.font = `600 10px ${ink.font}`;
  context.textBaseline = 'middle';
  for (const { at, name } of state.marks) {
    const x = Math.round(scale.px(at));
    if (x < -kMostNamePx || x > surface.width) continue;
    const width = Math.min(context.measureText(name).width, kMostNamePx) + 8;
    const top = surface.height - 14;
    context.fillStyle = ink.mark;
    context.fillRect(x, top, 1.5, 14);
    context.fillRect(x, top, width, 11);
    context.fillStyle = ink.back;
    context.fillText(name, x + 4, top + 6, kMostNamePx);
  }
}

export function drawMarkLines(surface: Surface, state: State, scale: TimeScale, ink: Ink): void {
  const { context } = surface;
  context.fillStyle = ink.mark;
  for (const { at } of state.marks) {
    const x = Math.round(scale.px(at));
    if (x >= 0 && x <= surface.width) context.fillRect(x, 0, 1, surface.height);
  }
}

/** The mark whose flag is at this place of the ruler. */
export function flagAt(marks: readonly Mark[], scale: TimeScale, px: number): Mark | null {
  return markNear(marks, scale.ns(px - kFlagPx / 2), kFlagPx / scale.pxPerNs);
}
