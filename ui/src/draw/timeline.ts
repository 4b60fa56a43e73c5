// The timeline: its canvases, and when each is drawn. Drawing happens only in animation frames, and only for parts that
// have changed; while a run is followed the window moves in every frame.

import { el } from '../dom.ts';
import { tracksOf } from '../model/rows/lanes.ts';
import type { Room } from '../model/rows/lanes.ts';
import { rulerOf } from '../model/time/ruler.ts';
import type { State } from '../model/state.ts';
import type { TimeWindow } from '../model/time/time_window.ts';
import { drawFlags } from './flags.ts';
import { Gutter } from './gutter.ts';
import type { Ink } from './ink.ts';
import { readInk, Surface } from './ink.ts';
import { LaneDrawing } from './lanes.ts';
import { drawCounters } from './counters.ts';
import { densityOf, drawMinimap, drawRuler } from './strips.ts';

export class Timeline {
  readonly element: HTMLElement;
  readonly lanes = canvas('lanes', 'Lanes: operators and casts over time. Keys move it; ? lists them.');
  readonly ruler = canvas('ruler', 'Ruler, in seconds since the first event: drag to zoom to a range. Arrows move a cursor, Shift and arrows select, Enter zooms');
  readonly minimap = canvas('minimap', 'The whole run: drag to move the window. Arrows move it, Shift and arrows move its end, Home and End go to the ends');
  private readonly counters = canvas('counters', 'Bytes that the autocast cache holds, over time');
  private readonly counterTop = el('span');
  readonly filter = el('input', { type: 'search', placeholder: 'filter lanes', 'aria-label': 'Filter lanes by name' });
  readonly gutter: Gutter;
  readonly lanesSurface = new Surface(this.lanes);
  private readonly rulerSurface = new Surface(this.ruler);
  private readonly minimapSurface = new Surface(this.minimap);
  private readonly countersSurface = new Surface(this.counters);
  private readonly drawing = new LaneDrawing();
  private readonly state: State;
  private ink: Ink | null = null;
  private density: Float32Array = new Float32Array(0);
  private densityOf: object | null = null;
  private frame = 0;
  private readonly stillness = matchMedia('(prefers-reduced-motion: reduce)');
  private recolour = true;
  private resized = true;
  /** What is selected in the ruler, while somebody drags there or selects by key. */
  rulerDrag: TimeWindow | null = null;
  /** Frame times for scripts that measure: ms of drawing. */
  readonly drawnMs: number[] = [];

  constructor(state: State) {
    this.state = state;
    this.gutter = new Gutter(state);
    this.lanes.tabIndex = 0;
    this.lanes.setAttribute('role', 'application');
    this.lanes.setAttribute('aria-roledescription', 'timeline');
    this.element = el(
      'section',
      { class: 'timeline', 'aria-label': 'Timeline' },
      el('div', { class: 'corner' }, 'whole run'),
      this.minimap,
      el('div', { class: 'corner' }, this.filter),
      this.ruler,
      this.gutter.element,
      this.lanes,
      el('div', { class: 'corner counters' }, el('b', {}, 'autocast cache'), this.counterTop),
      this.counters,
    );
    this.filter.addEventListener('input', () => {
      state.filter = this.filter.value.trim();
      state.scrollTop = 0;
      state.layOut();
    });
    state.on(['window', 'picture', 'selection', 'event', 'findings', 'definitions', 'run', 'find', 'marks'], () => this.soon());
    state.on('look', () => {
      this.recolour = true;
      this.soon();
    });
    state.on('loads', () => {
      this.gutter.forget();
      this.soon();
    });
    state.on('lanes', () => {
      this.gutter.forget();
      this.scrollBy(0);
      this.soon();
    });
    new ResizeObserver(() => {
      this.resized = true;
      state.roomPx = this.lanes.clientHeight;
      state.layOut();
      this.soon();
    }).observe(this.lanes);
    new ResizeObserver(() => {
      this.resized = true;
      this.soon();
    }).observe(this.counters);
  }

  soon(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((ms) => this.draw(ms));
  }

  scrollBy(px: number): void {
    const { state } = this;
    const most = Math.max(0, state.layout.height - (this.lanesSurface.height - state.layout.pinnedHeight));
    const next = Math.min(Math.max(state.scrollTop + px, 0), most);
    if (next === state.scrollTop) return;
    state.scrollTop = next;
    state.tell('lanes');
  }

  /** What a picture should hold: rows in sight and device px across. */
  room(): Room {
    const { state } = this;
    const rows = [...state.layout.pinned, ...this.drawing.shown(state, this.lanesSurface)];
    return { width: this.lanesSurface.canvas.width > 1 ? this.lanesSurface.canvas.width : 0, tracks: tracksOf(rows) };
  }

  /** The canvases from the top, for saving them as a picture. */
  canvases(): HTMLCanvasElement[] {
    return [this.ruler, this.lanes, this.counters];
  }

  get widthPx(): number {
    return Math.max(this.lanesSurface.width, 1);
  }

  private draw(ms: number): void {
    this.frame = 0;
    const begunMs = performance.now();
    const { state } = this;
    this.measure();
    if (this.recolour || !this.ink) {
      this.ink = readInk();
      this.drawing.recolour(state);
      this.recolour = false;
    }
    if (state.following && state.live) {
      if (!this.stillness.matches) {
        state.advance(ms);
        this.soon();
      }
    }
    const ruler = rulerOf(state.window, this.rulerSurface.width, state.whole.begin);
    this.drawing.draw(state, this.lanesSurface, this.ink, ruler);
    drawRuler(this.rulerSurface, state, ruler, this.rulerDrag, this.ink);
    drawFlags(this.rulerSurface, state, this.ink);
    const top = drawCounters(this.countersSurface, state, this.ink) || 'nothing held here';
    if (this.counterTop.textContent !== top) this.counterTop.textContent = top;
    this.drawMinimap(this.ink);
    this.gutter.place(this.lanesSurface.height);
    this.drawnMs.push(performance.now() - begunMs);
    if (this.drawnMs.length > 600) this.drawnMs.shift();
  }

  /** Asking for sizes makes the browser lay out the page, so this is called only when one may have changed. */
  private measure(): void {
    if (!this.resized && this.lanesSurface.ratio === window.devicePixelRatio) return;
    this.resized = false;
    for (const surface of [this.lanesSurface, this.rulerSurface, this.minimapSurface, this.countersSurface])
      surface.resize();
  }

  private drawMinimap(ink: Ink): void {
    const { overview, run } = this.state;
    if (overview && overview !== this.densityOf) {
      this.densityOf = overview;
      const tracks = run?.tracks.filter((track) => track.track_kind === 'casts' || track.track_kind === 'operators') ?? [];
      this.density = densityOf(overview, new Set(tracks.map((track) => track.track)));
    }
    drawMinimap(this.minimapSurface, this.state, this.density, ink);
  }
}

function canvas(name: string, label: string): HTMLCanvasElement {
  return el('canvas', { class: name, role: 'img', 'aria-label': label });
}
