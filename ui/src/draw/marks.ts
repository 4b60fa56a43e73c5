// Draws what lies above the rows: the selected area, the chosen event, the caliper, findings, the run's newest end.

import type { FindingMark } from '../model/findings/finding_marks.ts';
import type { LinkKind } from '../api/types.ts';
import { duration, grouped } from '../model/words/format.ts';
import { isStream } from '../model/rows/lanes.ts';
import type { Row } from '../model/rows/lanes.ts';
import type { State } from '../model/state.ts';
import type { TimeScale } from '../model/time/time_window.ts';
import { drawMarkLines } from './flags.ts';
import type { Ink, Surface } from './ink.ts';

/** What is drawn, where, at what scale and in which colours. */
export interface Scene {
  state: State;
  surface: Surface;
  scale: TimeScale;
  ink: Ink;
}

interface Span {
  y: number;
  height: number;
}

/** Where a track is on the surface, css px; null when it is not laid out. */
export function spanOfTrack(state: State, track: number): Span | null {
  const within = (rows: readonly Row[], offset: number): Span | null => {
    for (const row of rows) {
      if (row.kind === 'process') {
        if (row.steps?.track === track) return { y: row.y + offset, height: row.height };
        continue;
      }
      if (row.regions?.track === track) return { y: row.y + offset, height: row.height };
      const found = row.tracks.find((one) => one.track.track === track);
      if (found) return { y: row.y + offset + found.y, height: found.height };
    }
    return null;
  };
  return within(state.layout.pinned, 0) ?? within(state.layout.rows, state.layout.pinnedHeight - state.scrollTop);
}

export function drawMarks(scene: Scene): void {
  const { state, surface } = scene;
  drawOutside(scene);
  drawUnknown(scene);
  if (state.selection) drawSelection(scene);
  drawMarkLines(surface, state, scene.scale, scene.ink);
  drawFindings(scene);
  if (state.event) drawEvent(scene);
  if (state.measure) drawMeasure(scene, state.measure);
  if (state.layout.height > surface.height - state.layout.pinnedHeight) drawScroll(scene);
}

function drawOutside({ state, surface, scale, ink }: Scene): void {
  const { context } = surface;
  context.fillStyle = ink.band;
  const begin = scale.px(state.whole.begin);
  const end = scale.px(state.whole.end);
  context.globalAlpha = 0.6;
  if (begin > 0) context.fillRect(0, 0, Math.min(begin, surface.width), surface.height);
  if (!state.live && end < surface.width) context.fillRect(end, 0, surface.width - end, surface.height);
  context.globalAlpha = 1;
  if (state.live && end >= 0 && end <= surface.width) {
    context.fillStyle = ink.accent;
    context.fillRect(Math.round(end), 0, 1, surface.height);
  }
}

/** Marks stretches in which an empty row does not mean that nothing happened: kernels that were not timed, and events
 * that the run file does not keep. */
function drawUnknown(scene: Scene): void {
  const { state, surface } = scene;
  const { pinned, rows, pinnedHeight } = state.layout;
  const scrolled = rows.map((row) => ({ row, y: row.y + pinnedHeight - state.scrollTop }));
  for (const { row, y } of [...pinned.map((row) => ({ row, y: row.y })), ...scrolled]) {
    if (row.kind !== 'lane' || y + row.height < 0 || y > surface.height) continue;
    if (isStream(row)) for (const span of row.process.gpu_seats ?? []) drawSpan(scene, y, row.height, span, [`not timed: ${span.held_by} reads the records`, `not timed: ${span.held_by}`, 'not timed']);
    else for (const span of row.process.events_not_kept ?? []) drawSpan(scene, y, row.height, span, ['single events were not kept here: only counts (--keep all keeps them)', 'events not kept', 'not kept']);
  }
}

function drawSpan({ state, surface, scale, ink }: Scene, y: number, height: number, span: { begin_ns: number; end_ns: number | null }, words: string[]): void {
  const { context } = surface;
  const left = Math.max(scale.px(span.begin_ns), 0);
  const right = Math.min(scale.px(span.end_ns ?? state.whole.end), surface.width);
  if (right <= left) return;
  context.globalAlpha = 0.75;
  context.fillStyle = ink.band;
  context.fillRect(left, y, Math.max(right - left, 1), height - 1);
  context.globalAlpha = 1;
  context.fillStyle = ink.soft;
  context.fillRect(left, y, 1, height - 1);
  context.fillRect(right - 1, y, 1, height - 1);
  context.font = `11px ${ink.font}`;
  context.textBaseline = 'middle';
  const text = words.find((one) => context.measureText(one).width + 12 < right - left);
  if (text !== undefined) context.fillText(text, left + 6, y + height / 2);
}

function drawSelection({ state, surface, scale, ink }: Scene): void {
  const { context } = surface;
  const { begin, end, tracks } = state.selection!;
  const left = scale.px(begin);
  const width = scale.px(end) - left;
  let top = 0;
  let bottom = surface.height;
  if (tracks) {
    const spans = tracks.map((track) => spanOfTrack(state, track)).filter((span) => span !== null);
    if (spans.length === 0) return;
    top = Math.min(...spans.map((span) => span.y)) - 2;
    bottom = Math.max(...spans.map((span) => span.y + span.height)) + 2;
  }
  context.fillStyle = ink.select;
  context.fillRect(left, top, width, bottom - top);
  context.strokeStyle = ink.accent;
  context.lineWidth = 1;
  context.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.round(width), Math.round(bottom - top) - 1);
}

/** A mark of findings over a row, and where it is, css px on the surface. */
export interface PlacedMark extends FindingMark {
  y: number;
}

/** The marks over the rows in sight. */
export function findingMarksOf(state: State, scale: TimeScale, heightPx: number): PlacedMark[] {
  const marks = state.findingMarks();
  const placed: PlacedMark[] = [];
  for (const track of marks.tracks()) {
    const span = spanOfTrack(state, track);
    if (!span || span.y < state.layout.pinnedHeight - 10 || span.y > heightPx) continue;
    placed.push(...marks.onTrack(track, scale).map((mark) => ({ ...mark, y: span.y })));
  }
  return placed;
}

function drawFindings({ state, surface, scale, ink }: Scene): void {
  const { context } = surface;
  context.font = `600 10px ${ink.font}`;
  context.textBaseline = 'middle';
  for (const { x, y, findings } of findingMarksOf(state, scale, surface.height)) {
    const chosen = findings.some((one) => one.fingerprint === state.finding);
    const size = chosen ? 7 : 5;
    context.fillStyle = ink[findings[0].severity];
    context.beginPath();
    context.moveTo(x - size, y - 4);
    context.lineTo(x + size, y - 4);
    context.lineTo(x, y - 4 + size * 1.6);
    context.closePath();
    context.strokeStyle = chosen ? ink.text : ink.back;
    context.lineWidth = chosen ? 2 : 1;
    context.stroke();
    context.fill();
    context.lineWidth = 1;
    if (findings.length === 1) continue;
    const text = `×${grouped(findings.length)}`;
    const width = context.measureText(text).width + 4;
    context.fillStyle = ink.back;
    context.fillRect(x + size + 1, y - 6, width, 12);
    context.fillStyle = ink.text;
    context.fillText(text, x + size + 3, y + 0.5);
  }
}

function drawEvent({ state, surface: { context }, scale, ink }: Scene): void {
  const event = state.event!;
  const span = spanOfTrack(state, event.track);
  if (!span) return;
  const left = scale.px(event.begin_ns);
  const width = Math.max(scale.px(event.end_ns) - left, 2);
  context.strokeStyle = ink.text;
  context.lineWidth = 2;
  context.strokeRect(left - 1.5, span.y - 1.5, width + 3, span.height + 3);
  context.lineWidth = 1;
  const at = { left, width, span };
  const { launch } = event;
  if (launch && launch.launched_ns !== null) drawFlow(context, scale.px(launch.launched_ns), launch.launched_by ? spanOfTrack(state, launch.launched_by.track) : null, at, ink.text);
  for (const link of event.linked_events ?? []) {
    const other = spanOfTrack(state, link.event.track);
    // What a value comes from ends where the line begins; what it goes to begins where the line ends.
    const comes = link.link_kind === 'made_by' || link.link_kind === 'filled_by';
    if (other) drawFlow(context, scale.px(comes ? link.event.end_ns : link.event.begin_ns), other, at, ink[kLinkInk[link.link_kind]]);
  }
}

const kLinkInk: Record<LinkKind, 'accent' | 'mark' | 'text'> = { filled_by: 'mark', serves: 'mark', consumed_by: 'text', made_by: 'accent', goes_to: 'accent' };

/** Draws a line from `x` on another row to the chosen event; it stays on the event's own row if the other one is out of
 * sight. The dot marks the other end. */
function drawFlow(context: CanvasRenderingContext2D, x: number, from: Span | null, { left, width, span }: { left: number; width: number; span: Span }, colour: string): void {
  const to = span.y + span.height / 2;
  const y = from ? from.y + from.height / 2 : to;
  const before = x <= left;
  const end = before ? left - 1 : left + width;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.beginPath();
  context.setLineDash([4, 3]);
  context.moveTo(x, y);
  // The line steps aside at both ends, so that ends that lie above each other can be told apart.
  const aside = from ? Math.min(Math.max(Math.abs(end - x) / 2, 12), 60) * (before ? 1 : -1) : 0;
  context.bezierCurveTo(x + aside, y, end - aside, to, end, to);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.arc(x, y, 3, 0, 2 * Math.PI);
  context.fill();
}

function drawMeasure({ surface, scale, ink }: Scene, measure: { from: number; to: number }): void {
  const { context } = surface;
  const a = Math.round(scale.px(measure.from));
  const b = Math.round(scale.px(measure.to));
  context.fillStyle = ink.accent;
  context.fillRect(a, 0, 1, surface.height);
  context.fillRect(b, 0, 1, surface.height);
  const y = 18;
  context.fillRect(Math.min(a, b), y, Math.abs(b - a), 1);
  const text = duration(Math.abs(measure.to - measure.from));
  context.font = `600 12px ${ink.font}`;
  const width = context.measureText(text).width + 12;
  const x = Math.min(Math.max((a + b) / 2 - width / 2, 2), surface.width - width - 2);
  context.fillStyle = ink.accent;
  context.beginPath();
  context.roundRect(x, y - 10, width, 20, 4);
  context.fill();
  context.fillStyle = ink.back;
  context.textBaseline = 'middle';
  context.fillText(text, x + 6, y + 0.5);
}

function drawScroll({ state, surface, ink }: Scene): void {
  const { context } = surface;
  const room = surface.height - state.layout.pinnedHeight;
  const size = Math.max((room * room) / state.layout.height, 24);
  const most = state.layout.height - room;
  const y = state.layout.pinnedHeight + (room - size) * Math.min(state.scrollTop / most, 1);
  context.fillStyle = ink.soft;
  context.globalAlpha = 0.5;
  context.fillRect(surface.width - 5, y, 4, size);
  context.globalAlpha = 1;
}
