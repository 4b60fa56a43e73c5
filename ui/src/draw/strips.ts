// The strips above and below the rows: minimap, ruler, cache counter.

import { eachRun, kTimelessBand } from '../api/bands.ts';
import { nsOfColumn } from '../api/picture.ts';
import type { Picture } from '../api/picture.ts';
import { grouped } from '../model/words/format.ts';
import type { Ruler } from '../model/time/ruler.ts';
import type { State } from '../model/state.ts';
import { TimeScale } from '../model/time/time_window.ts';
import type { TimeWindow } from '../model/time/time_window.ts';
import type { Ink, Surface } from './ink.ts';

/** How far marks of findings reach down from the top of the minimap, css px. */
export const kMinimapMarkPx = 9;

/** How much happens in each column of the overview, 0…1 of the busiest. */
export function densityOf(picture: Picture, tracks: ReadonlySet<number>): Float32Array {
  const sums = new Float32Array(picture.columns);
  for (const [track, bands] of picture.tracks) {
    if (!tracks.has(track)) continue;
    for (const band of bands)
      eachRun(band, (first, length, value) => {
        const share = band.band === kTimelessBand ? 1 / 255 : (value >> 8) / 255;
        for (let c = first; c < first + length; c += 1) sums[c] += share;
      });
  }
  const top = sums.reduce((most, value) => Math.max(most, value), 0);
  // The square root lifts small values: a lone cast must be visible too.
  if (top > 0) for (let c = 0; c < sums.length; c += 1) sums[c] = Math.sqrt(sums[c] / top);
  return sums;
}

export function drawMinimap(surface: Surface, state: State, density: Float32Array, ink: Ink): void {
  const context = surface.clear(ink.band);
  const all = state.allWindow();
  const scale = new TimeScale(all, surface.width);
  const { overview } = state;
  const base = surface.height - 4;
  if (overview) {
    context.fillStyle = ink.accent;
    context.globalAlpha = 0.55;
    // Edges lie on whole pixels: two that shared a pixel would look like a stripe.
    const edge = (c: number) => Math.round(scale.px(nsOfColumn(overview, c)));
    for (let c = 0; c < density.length; c += 1) {
      if (density[c] === 0) continue;
      const left = edge(c);
      const height = Math.max(density[c] * (base - 7), 1.5);
      context.fillRect(left, base - height, Math.max(edge(c + 1) - left, 1), height);
    }
    context.globalAlpha = 1;
  }
  context.font = `600 9px ${ink.font}`;
  context.textBaseline = 'middle';
  for (const { x, findings } of state.findingMarks().onAll(scale)) {
    const chosen = findings.some((one) => one.fingerprint === state.finding);
    context.fillStyle = ink[findings[0].severity];
    context.fillRect(x - (chosen ? 2 : 1), 0, chosen ? 5 : 3, kMinimapMarkPx);
    if (findings.length === 1) continue;
    context.fillStyle = ink.text;
    context.fillText(`×${grouped(findings.length)}`, x + 4, kMinimapMarkPx / 2 + 0.5);
  }
  if (state.foundOverview) drawFound(context, state.foundOverview, scale, base, ink);
  drawWindow(context, surface, scale, state.window, ink);
}

function drawFound(context: CanvasRenderingContext2D, found: Picture, scale: TimeScale, y: number, ink: Ink): void {
  context.fillStyle = ink.mark;
  for (const band of [...found.tracks.values()].flat())
    eachRun(band, (first, length) => {
      const left = scale.px(nsOfColumn(found, first));
      const right = scale.px(nsOfColumn(found, first + length));
      context.fillRect(left, y, Math.max(right - left, 1.5), 4);
    });
}

function drawWindow(
  context: CanvasRenderingContext2D,
  surface: Surface,
  scale: TimeScale,
  window: TimeWindow,
  ink: Ink,
): void {
  const left = Math.max(scale.px(window.begin), 0);
  const right = Math.max(Math.min(scale.px(window.end), surface.width), left + 3);
  context.fillStyle = ink.back;
  context.globalAlpha = 0.6;
  context.fillRect(0, 0, left, surface.height);
  context.fillRect(right, 0, surface.width - right, surface.height);
  context.globalAlpha = 1;
  context.strokeStyle = ink.accent;
  context.strokeRect(left + 0.5, 0.5, right - left - 1, surface.height - 1);
  if (right - left < 14) return;
  context.fillStyle = ink.accent;
  const middle = surface.height / 2;
  for (const x of [left, right]) {
    context.beginPath();
    context.roundRect(x - 2.5, middle - 8, 5, 16, 2.5);
    context.fill();
  }
}

export function drawRuler(surface: Surface, state: State, ruler: Ruler, drag: TimeWindow | null, ink: Ink): void {
  const context = surface.clear(ink.back);
  const scale = new TimeScale(state.window, surface.width);
  context.font = `11px ${ink.font}`;
  context.textBaseline = 'middle';
  let clear = 0;
  if (ruler.anchor) {
    context.font = `600 11px ${ink.font}`;
    context.fillStyle = ink.text;
    context.fillText(ruler.anchor.label, 6, 9);
    clear = context.measureText(ruler.anchor.label).width + 14;
    context.font = `11px ${ink.font}`;
  }
  for (const tick of ruler.ticks) {
    const x = Math.round(scale.px(tick.ns));
    context.fillStyle = ink.strong;
    context.fillRect(x, surface.height - 7, 1, 7);
    if (x + 4 < clear || x + 4 + context.measureText(tick.label).width > surface.width) continue;
    context.fillStyle = ink.soft;
    context.fillText(tick.label, x + 4, 9);
  }
  if (drag) {
    const left = scale.px(Math.min(drag.begin, drag.end));
    const right = scale.px(Math.max(drag.begin, drag.end));
    context.fillStyle = ink.select;
    context.fillRect(left, 0, right - left, surface.height);
    context.fillStyle = ink.accent;
    context.fillRect(Math.round(scale.px(drag.end)), 0, 1, surface.height);
  }
  context.fillStyle = ink.line;
  context.fillRect(0, surface.height - 1, surface.width, 1);
}
