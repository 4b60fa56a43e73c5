// Draws the rows of the timeline: the raster, boxes with their labels, and selections.

import { nsOfColumn, pictureEnd } from '../api/picture.ts';
import type { Picture } from '../api/picture.ts';
import type { Track } from '../api/types.ts';
import { clearSpan, columnScale, fillTrack, fullSpan, Inks, Raster, rowsFor } from './raster.ts';
import type { Rows } from './raster.ts';
import { css, inkOn, kPaleAlpha, kShapes, lookOf } from '../model/looks/colours.ts';
import type { LaneRow, ProcessRow, Row } from '../model/rows/lanes.ts';
import { visibleRows } from '../model/rows/lanes.ts';
import type { Ruler } from '../model/time/ruler.ts';
import type { State } from '../model/state.ts';
import { TimeScale } from '../model/time/time_window.ts';
import type { Ink, Surface } from './ink.ts';
import { drawMarks } from './marks.ts';

const kLetterPx = 6.1;
const kMostLabels = 350;
const kTintAlpha = 0.15;
// The height of the line above a region, in its full colour.
const kTintLinePx = 3;

interface Strip {
  track: Track;
  /** css px on the surface */
  y: number;
  height: number;
  /** its first row of pixels */
  row: number;
  rows: Rows;
  tint: boolean;
}

/** What a label is written with, and what it lies on where the event is hatched. */
interface Pen {
  ink: string;
  under: string | null;
}
const kSoft: Pen = { ink: '', under: null };

interface Label {
  text: string;
  x: number;
  y: number;
}

export class LaneDrawing {
  private readonly raster = new Raster();
  private readonly foundRaster = new Raster();
  private inks = new Inks([], 'kind', 'light');
  private pens: Pen[] = [];

  /** Call when colours, theme or shades have changed. */
  recolour(state: State): void {
    const shades = state.run?.shades ?? [];
    this.inks = new Inks(shades, state.colourBy, state.theme);
    this.pens = [];
    for (const shade of shades) {
      const { colour, hatch } = lookOf(shade, state.colourBy, state.theme);
      this.pens[shade.shade] = { ink: css(inkOn(colour)), under: hatch === 'plain' ? null : css(colour) };
    }
  }

  draw(state: State, surface: Surface, ink: Ink, ruler: Ruler): void {
    const context = surface.clear(ink.back);
    const scale = new TimeScale(state.window, surface.width);
    const pinned = state.layout.pinned;
    const scrolled = this.shown(state, surface);
    const offset = state.layout.pinnedHeight - state.scrollTop;
    drawGrid(context, surface, scale, ruler, ink);
    context.save();
    context.beginPath();
    context.rect(0, state.layout.pinnedHeight, surface.width, surface.height);
    context.clip();
    this.drawRows(state, surface, ink, scale, scrolled, offset);
    context.restore();
    if (pinned.length > 0) {
      context.fillStyle = ink.back;
      context.fillRect(0, 0, surface.width, state.layout.pinnedHeight);
      this.drawRows(state, surface, ink, scale, pinned, 0);
      context.fillStyle = ink.strong;
      context.fillRect(0, state.layout.pinnedHeight - 1, surface.width, 1);
    }
    drawMarks({ state, surface, scale, ink });
  }

  shown(state: State, surface: Surface): Row[] {
    return visibleRows(state.layout.rows, state.scrollTop, surface.height - state.layout.pinnedHeight);
  }

  private drawRows(state: State, surface: Surface, ink: Ink, scale: TimeScale, rows: Row[], offset: number): void {
    const { context } = surface;
    for (const row of rows) {
      if (row.kind !== 'process') continue;
      context.fillStyle = ink.band;
      context.fillRect(0, row.y + offset, surface.width, row.height);
    }
    const strips = stripsOf(rows, offset, surface.ratio);
    drawMiddles(context, strips, surface.width, ink);
    this.paint(state, surface, strips);
    const labels = new Map<Pen, Label[]>();
    for (const strip of strips) if (!strip.tint) this.boxes(state, surface, scale, strip, labels);
    drawLabels(context, labels, ink);
    context.fillStyle = ink.line;
    for (const row of rows) context.fillRect(0, row.y + row.height + offset - 1, surface.width, 1);
  }

  private paint(state: State, surface: Surface, strips: Strip[]): void {
    const { context, ratio } = surface;
    const width = surface.canvas.width;
    const rows = strips.reduce((sum, strip) => sum + strip.rows.count, 0);
    this.fill(this.raster, state, surface, strips, rows, state.picture, state.overview);
    const searching = state.foundPicture !== null;
    if (searching) this.fill(this.foundRaster, state, surface, strips, rows, state.foundPicture, null);
    context.imageSmoothingEnabled = false;
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const strip of strips) {
      const y = Math.round(strip.y * ratio);
      const { count, height } = strip.rows;
      const alpha = strip.tint ? kTintAlpha : isPale(strip.track) ? kPaleAlpha : 1;
      context.globalAlpha = searching && !strip.tint ? alpha * 0.22 : alpha;
      context.drawImage(this.raster.canvas, 0, strip.row, width, count, 0, y, width, height);
      context.globalAlpha = 1;
      // A tint alone would not tell its colour.
      if (strip.tint) context.drawImage(this.raster.canvas, 0, strip.row, width, count, 0, y, width, Math.round(kTintLinePx * ratio));
      else if (searching) context.drawImage(this.foundRaster.canvas, 0, strip.row, width, count, 0, y, width, height);
    }
    context.globalAlpha = 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  private fill(
    raster: Raster,
    state: State,
    { canvas: { width }, ratio }: Surface,
    strips: Strip[],
    rows: number,
    picture: Picture | null,
    below: Picture | null,
  ): void {
    const { window } = state;
    raster.begin(width, rows, (-window.begin * width) / (window.end - window.begin), ratio);
    const covers = picture !== null && picture.first <= window.begin && pictureEnd(picture) >= Math.min(window.end, picture.newest);
    const fine = picture === null ? null : columnScale(picture, window, width);
    const coarse = below === null || covers ? null : columnScale(below, window, width);
    for (const { track: { track }, row, rows } of strips) {
      const under = coarse === null ? undefined : below?.tracks.get(track);
      if (under && coarse) for (const band of under) fillTrack(raster.target, row, band, coarse, this.inks, rows);
      if (picture === null || fine === null) continue;
      if (under) clearSpan(raster.target, row, rows.count, fine.x0, fine.x0 + picture.columns * fine.perColumn);
      for (const band of picture.tracks.get(track) ?? []) fillTrack(raster.target, row, band, fine, this.inks, rows);
    }
    raster.finish(rows);
  }

  private boxes(state: State, surface: Surface, scale: TimeScale, strip: Strip, labels: Map<Pen, Label[]>): void {
    const { picture } = state;
    const boxes = picture?.boxes.get(strip.track.track);
    if (!picture || !boxes) return;
    const { context } = surface;
    const edge = state.theme === 'light' ? 'rgb(255 255 255 / 0.75)' : 'rgb(10 12 16 / 0.7)';
    context.fillStyle = edge;
    const wide: number[] = [];
    for (let i = 0; i < boxes.length; i += 1) {
      const box = boxes[i];
      const left = scale.px(nsOfColumn(picture, box.begin));
      const right = scale.px(nsOfColumn(picture, box.end));
      if (right < 0 || left > surface.width || right - left < 5) continue;
      const { y, height } = this.placeOf(strip, box.shade);
      if (!box.endsAfter && !box.open) context.fillRect(right - 1, y, 1, height);
      if (right - left >= 12 && height >= 11) wide.push(i, left, right);
    }
    for (let i = 0; i < wide.length; i += 3) {
      const box = boxes[wide[i]];
      const left = Math.max(wide[i + 1], 0);
      const right = Math.min(wide[i + 2], surface.width);
      const letters = Math.floor((right - left - 5) / kLetterPx);
      if (letters < 1) continue;
      const text = state.definitions.labelOf(strip.track, box.subject);
      // A number that is cut would be another number.
      const least = strip.track.track_kind === 'steps' ? text.length : Math.min(text.length, 4);
      if (text === '' || letters < least) continue;
      const pen = isPale(strip.track) ? kSoft : (this.pens[box.shade] ?? kSoft);
      const list = labels.get(pen) ?? [];
      if (list.length >= kMostLabels) continue;
      labels.set(pen, list);
      const { y, height } = this.placeOf(strip, box.shade);
      list.push({ text: text.length > letters ? `${text.slice(0, Math.max(letters - 1, 1))}…` : text, x: left + 4, y: y + height / 2 + 0.5 });
    }
  }

  /** The part of a track's height that a full column of this shade takes. */
  private placeOf({ y, height, rows }: Strip, shade: number): { y: number; height: number } {
    const [from, to] = fullSpan(rows, kShapes[this.inks.shapes[shade]]);
    return { y: y + (height * from) / rows.count, height: (height * (to - from)) / rows.count };
  }
}

/** Steps and modules hold others, and are pale. */
const isPale = ({ track_kind: kind }: Track) => kind === 'steps' || kind === 'modules';

function stripsOf(rows: Row[], offset: number, ratio: number): Strip[] {
  const strips: Strip[] = [];
  let next = 0;
  const add = (track: Track, y: number, height: number, tint: boolean) => {
    const rows = rowsFor(track.track_kind, Math.max(1, Math.round((y + height) * ratio) - Math.round(y * ratio)));
    strips.push({ track, y, height, row: next, rows, tint });
    next += rows.count;
  };
  const lane = (row: LaneRow) => {
    if (row.regions) add(row.regions, row.y + offset, row.height - 1, true);
    for (const one of row.tracks) add(one.track, row.y + offset + one.y, one.height, false);
  };
  const process = (row: ProcessRow) => {
    if (row.steps) add(row.steps, row.y + offset + 3, row.height - 7, false);
  };
  for (const row of rows) {
    if (row.kind === 'lane') lane(row);
    else process(row);
  }
  return strips;
}

function drawGrid(
  context: CanvasRenderingContext2D,
  surface: Surface,
  scale: TimeScale,
  ruler: Ruler,
  ink: Ink,
): void {
  context.fillStyle = ink.line;
  for (const tick of ruler.ticks) context.fillRect(Math.round(scale.px(tick.ns)), 0, 1, surface.height);
}

/** The lines on which casts up stand, and from which casts down hang. */
function drawMiddles(context: CanvasRenderingContext2D, strips: Strip[], width: number, ink: Ink): void {
  context.fillStyle = ink.strong;
  for (const { y, height, rows } of strips)
    if (rows.middle > 0) context.fillRect(0, Math.round(y + (height * rows.middle) / rows.count) - 0.5, width, 1);
}

function drawLabels(context: CanvasRenderingContext2D, labels: Map<Pen, Label[]>, ink: Ink): void {
  context.font = `11px ${ink.font}`;
  context.textBaseline = 'middle';
  for (const [pen, list] of labels) {
    if (pen.under !== null) {
      context.strokeStyle = pen.under;
      context.lineWidth = 4;
      context.lineJoin = 'round';
      for (const label of list) context.strokeText(label.text, label.x, label.y);
      context.lineWidth = 1;
    }
    context.fillStyle = pen === kSoft ? ink.text : pen.ink;
    for (const label of list) context.fillText(label.text, label.x, label.y);
  }
}
