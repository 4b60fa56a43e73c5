// The names of the rows, as buttons beside the canvas: only those in sight exist.

import { el } from '../dom.ts';
import type { LaneRow, Row, TrackRow } from '../model/rows/lanes.ts';
import { processKey, processName, siblingsOf, visibleRows } from '../model/rows/lanes.ts';
import type { State } from '../model/state.ts';
import { loadText } from '../model/rows/streams.ts';

const kMore = 400;
// A press that moves so far is not a click.
const kDragPx = 5;
// The height of a row that has room for a second line, about what its stream did.
const kTwoLinesPx = 29;
const kPartPx = 13;
// The height of a row of casts that has room for the names of its parts.
const kTellingPx = 44;

export class Gutter {
  readonly element = el('div', { class: 'gutter', role: 'group', 'aria-label': 'Lanes' });
  private readonly fixed = el('div', { class: 'fixed' });
  private readonly moving = el('div');
  private built = '';
  /** The row whose name gets the focus back once it is built again. */
  private refocus: string | null = null;
  private readonly state: State;

  constructor(state: State) {
    this.state = state;
    this.element.append(this.fixed, this.moving);
    this.element.addEventListener('pointerdown', (event) => this.drag(event));
    this.element.addEventListener('keydown', (event) => this.key(event));
  }

  /** The row that has the focus. */
  chosen(): Row | null {
    return this.rowOf(document.activeElement);
  }

  private rowOf(target: EventTarget | null): Row | null {
    const key = target instanceof Element ? (target.closest<HTMLElement>('.gutter-row')?.dataset.key ?? null) : null;
    const { pinned, rows } = this.state.layout;
    return key === null ? null : ([...pinned, ...rows].find((row) => row.key === key) ?? null);
  }

  /** Lets a row be dragged up or down by its name; the row stays where it is dropped. */
  private drag(first: PointerEvent): void {
    const row = this.rowOf(first.target);
    if (!row || first.button !== 0 || first.pointerType === 'touch') return;
    let dragging = false;
    const move = (now: PointerEvent) => {
      if (now.pointerId !== first.pointerId) return;
      if (!dragging && Math.abs(now.clientY - first.clientY) < kDragPx) return;
      if (!dragging) this.element.setPointerCapture(first.pointerId); // from here on it is not a click
      dragging = true;
      this.element.classList.add('dragging');
      const under = document.elementsFromPoint(first.clientX, now.clientY).map((one) => this.rowOf(one)).find(Boolean);
      const siblings = siblingsOf(this.state.layout, row);
      const target = under && (siblings.includes(under.key) ? under.key : processKey(under.process.process));
      if (target && target !== row.key && siblings.includes(target)) this.state.move(row, target);
    };
    const end = (now: PointerEvent) => {
      if (now.pointerId !== first.pointerId) return;
      this.element.classList.remove('dragging');
      document.removeEventListener('pointermove', move);
      document.removeEventListener('pointerup', end);
      document.removeEventListener('pointercancel', end);
    };
    document.addEventListener('pointermove', move);
    document.addEventListener('pointerup', end);
    document.addEventListener('pointercancel', end);
  }

  private key(event: KeyboardEvent): void {
    const row = this.rowOf(event.target);
    const by = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0;
    if (!row || !event.altKey || by === 0) return;
    event.preventDefault();
    const siblings = siblingsOf(this.state.layout, row);
    const target = siblings[siblings.indexOf(row.key) + by];
    if (target === undefined) return;
    this.state.move(row, target);
    this.refocus = row.key;
  }

  /** Follows the scrolling; builds rows again only when others come into sight. */
  place(heightPx: number): void {
    const { layout, scrollTop } = this.state;
    const moved = `translateY(${layout.pinnedHeight - scrollTop}px)`;
    if (this.moving.style.transform !== moved) this.moving.style.transform = moved;
    const from = Math.floor(scrollTop / kMore) * kMore - kMore;
    const key = `${from}/${Math.ceil(heightPx / kMore)}`;
    if (key === this.built) return;
    this.built = key;
    this.moving.replaceChildren(
      ...visibleRows(layout.rows, from, Math.ceil(heightPx / kMore) * kMore + 3 * kMore).map((row) => this.row(row)),
    );
    this.fixed.replaceChildren(...layout.pinned.map((row) => this.row(row)));
    if (this.refocus === null) return;
    this.element.querySelector<HTMLElement>(`[data-key="${this.refocus}"] .name`)?.focus({ preventScroll: true });
    this.refocus = null;
  }

  forget(): void {
    this.built = '';
  }

  private row(row: Row): HTMLElement {
    const element = row.kind === 'process' ? this.processRow(row) : this.laneRow(row);
    element.dataset.key = row.key;
    element.style.top = `${row.y}px`;
    element.style.height = `${row.height}px`;
    return element;
  }

  private processRow(row: Row): HTMLElement {
    const name = processName(row.process);
    const ended = row.process.end_kind === 'vanished' ? ' · vanished' : '';
    return el(
      'div',
      { class: 'gutter-row process' },
      el(
        'button',
        {
          class: 'name',
          'aria-expanded': String(!row.collapsed),
          title: name,
          click: () => this.fold(row.key),
        },
        `${row.collapsed ? '▸' : '▾'} ${name}${ended}`,
      ),
    );
  }

  private laneRow(row: LaneRow): HTMLElement {
    const name = row.pinned ? `${processName(row.process)} · ${row.name}` : row.name;
    const load = this.state.loads.get(row.key);
    const did = load ? loadText(load) : '';
    const parts = row.collapsed ? [] : row.tracks.flatMap(partsOf);
    return el(
      'div',
      { class: `gutter-row lane${row.height < 20 ? ' tight' : ''}${parts.length > 0 ? ' telling' : ''}` },
      el(
        'button',
        {
          class: 'name',
          'aria-expanded': String(!row.collapsed),
          title: `${name}: fold or open${did === '' ? '' : `\nin the stretch shown, of timed steps: ${did} of it`}`,
          click: () => this.fold(row.key),
        },
        name,
        did !== '' && row.height >= kTwoLinesPx && el('small', {}, did),
      ),
      el(
        'button',
        {
          class: 'pin',
          'aria-pressed': String(row.pinned),
          'aria-label': `Pin ${name} to the top`,
          title: row.pinned ? 'unpin' : 'pin to the top',
          click: () => this.pin(row.key),
        },
        row.pinned ? '★' : '☆',
      ),
      ...parts,
    );
  }

  private fold(key: string): void {
    const { collapsed } = this.state;
    if (!collapsed.delete(key)) collapsed.add(key);
    this.state.layOut();
  }

  private pin(key: string): void {
    const { pinned } = this.state;
    this.state.pinned = pinned.includes(key) ? pinned.filter((one) => one !== key) : [...pinned, key];
    this.state.layOut();
  }
}

/** Says what a part of a lane shows, where there is room for it. */
function partsOf({ track, y, height }: TrackRow): HTMLElement[] {
  const part = (text: string, top: number, high: number) => {
    if (high < kPartPx) return [];
    const element = el('span', { class: 'part', 'aria-hidden': 'true' }, text);
    element.style.top = `${Math.round(top + high / 2 - kPartPx / 2)}px`;
    return [element];
  };
  if (track.track_kind === 'casts') {
    if (height < kTellingPx) return [];
    const half = height * 0.43;
    return [...part('casts up', y, half), ...part('casts down', y + half, half), ...part('hits, passes', y + 2 * half, height - 2 * half)];
  }
  if (track.row_depth > 0 || (track.track_kind !== 'modules' && track.track_kind !== 'operators')) return [];
  return part(track.track_kind, y, height);
}
