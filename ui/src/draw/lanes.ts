// Draws the rows of the timeline: the raster, boxes with their labels, and selections.

import { nsOfColumn, pictureEnd } from '../api/picture.ts';
import type { Picture } from '../api/picture.ts';
import type { Track } from '../api/types.ts';
import { castRowTable, clearSpan, colourTable, columnScale, fillTrack, Raster } from './raster.ts';
import type { ColourTable } from './raster.ts';
import { colourOf, css, inkOn } from '../model/colours.ts';
import type { LaneRow, ProcessRow, Row } from '../model/lanes.ts';
import { visibleRows } from '../model/lanes.ts';
import type { Ruler } from '../model/ruler.ts';
import type { State } from '../model/state.ts';
import { TimeScale } from '../model/time_window.ts';
import type { Ink, Surface } from './ink.ts';
import { drawMarks } from './marks.ts';

const kLetterPx = 6.1;
const kMostLabels = 350;

interface Strip {
  track: Track;
  /** css px on the surface */
  y: number;
  height: number;
  /** its first row of pixels, and how many */
  row: number;
  rows: number;
  tint: boolean;
}

interface Label {
  text: string;
  x: number;
  y: number;
}

export class LaneDrawing {
  private readonly raster = new Raster();
  private readonly foundRaster = new Raster();
  private colours: ColourTable = new Uint32Array(0);
  private rowsOf: Uint8Array = new Uint8Array(256);
  private inks: string[] = [];

  /** Call when colours, theme or shades have changed. */
  recolour(state: State): void {
    const shades = state.run?.shades ?? [];
    this.colours = colourTable(shades, state.colourBy, state.theme);
    this.rowsOf = castRowTable(shades);
    this.inks = [];
    for (const shade of shades) this.inks[shade.shade] = css(inkOn(colourOf(shade, state.colourBy, state.theme)));
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
    const strips = stripsOf(rows, offset);
    this.paint(state, surface, strips);
    const labels = new Map<string, Label[]>();
    for (const strip of strips) if (!strip.tint) this.boxes(state, surface, scale, strip, labels);
    drawLabels(context, labels, ink);
    context.fillStyle = ink.line;
    for (const row of rows) context.fillRect(0, row.y + row.height + offset - 1, surface.width, 1);
  }

  private paint(state: State, surface: Surface, strips: Strip[]): void {
    const { context, ratio } = surface;
    const width = surface.canvas.width;
    const rows = strips.reduce((sum, strip) => sum + strip.rows, 0);
    this.fill(this.raster, state, width, strips, rows, state.picture, state.overview);
    const searching = state.foundPicture !== null;
    if (searching) this.fill(this.foundRaster, state, width, strips, rows, state.foundPicture, null);
    context.imageSmoothingEnabled = false;
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const strip of strips) {
      const y = Math.round(strip.y * ratio);
      const height = Math.max(1, Math.round((strip.y + strip.height) * ratio) - y);
      const faint = strip.track.track_kind === 'steps' ? 0.35 : 1;
      const alpha = strip.tint ? 0.15 : faint;
      context.globalAlpha = searching && !strip.tint ? alpha * 0.22 : alpha;
      context.drawImage(this.raster.canvas, 0, strip.row, width, strip.rows, 0, y, width, height);
      if (!searching || strip.tint) continue;
      context.globalAlpha = 1;
      context.drawImage(this.foundRaster.canvas, 0, strip.row, width, strip.rows, 0, y, width, height);
    }
    context.globalAlpha = 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  private fill(
    raster: Raster,
    state: State,
    width: number,
    strips: Strip[],
    rows: number,
    picture: Picture | null,
    below: Picture | null,
  ): void {
    raster.begin(width, rows);
    const { window } = state;
    const covers = picture !== null && picture.first <= window.begin && pictureEnd(picture) >= Math.min(window.end, picture.newest);
    const fine = picture === null ? null : columnScale(picture, window, width);
    const coarse = below === null || covers ? null : columnScale(below, window, width);
    for (const strip of strips) {
      const bits = strip.rows === 3 ? this.rowsOf : null;
      const under = coarse === null ? undefined : below?.tracks.get(strip.track.track);
      if (under && coarse) fillTrack(raster.target, strip.row, under, coarse, this.colours, bits);
      if (picture === null || fine === null) continue;
      if (under) clearSpan(raster.target, strip.row, strip.rows, fine.x0, fine.x0 + picture.columns * fine.perColumn);
      const track = picture.tracks.get(strip.track.track);
      if (track) fillTrack(raster.target, strip.row, track, fine, this.colours, bits);
    }
    raster.finish(rows);
  }

  private boxes(state: State, surface: Surface, scale: TimeScale, strip: Strip, labels: Map<string, Label[]>): void {
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
      if (!box.endsAfter && !box.open) context.fillRect(right - 1, strip.y, 1, strip.height);
      if (right - left >= 12 && strip.height >= 11) wide.push(i, left, right);
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
      const ink = strip.track.track_kind === 'steps' ? 'soft' : (this.inks[box.shade] ?? 'soft');
      const list = labels.get(ink) ?? [];
      if (list.length >= kMostLabels) continue;
      labels.set(ink, list);
      list.push({
        text: text.length > letters ? `${text.slice(0, Math.max(letters - 1, 1))}…` : text,
        x: left + 4,
        y: strip.y + strip.height / 2 + 0.5,
      });
    }
  }
}

function stripsOf(rows: Row[], offset: number): Strip[] {
  const strips: Strip[] = [];
  let next = 0;
  const add = (track: Track, y: number, height: number, tint: boolean) => {
    const lines = track.track_kind === 'casts' && !tint ? 3 : 1;
    strips.push({ track, y, height, row: next, rows: lines, tint });
    next += lines;
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

function drawLabels(context: CanvasRenderingContext2D, labels: Map<string, Label[]>, ink: Ink): void {
  context.font = `11px ${ink.font}`;
  context.textBaseline = 'middle';
  for (const [colour, list] of labels) {
    context.fillStyle = colour === 'soft' ? ink.text : colour;
    for (const label of list) context.fillText(label.text, label.x, label.y);
  }
}
