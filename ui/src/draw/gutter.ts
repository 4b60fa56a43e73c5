// The names of the rows, as buttons beside the canvas: only those in sight exist.

import { el } from '../panels/dom.ts';
import type { LaneRow, Row } from '../model/lanes.ts';
import { processName, visibleRows } from '../model/lanes.ts';
import type { State } from '../model/state.ts';

const kMore = 400;

export class Gutter {
  readonly element = el('div', { class: 'gutter', role: 'group', 'aria-label': 'Lanes' });
  private readonly fixed = el('div', { class: 'fixed' });
  private readonly moving = el('div');
  private built = '';
  private readonly state: State;

  constructor(state: State) {
    this.state = state;
    this.element.append(this.fixed, this.moving);
  }

  /** Follows the scrolling; builds rows anew only when others come into sight. */
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
  }

  forget(): void {
    this.built = '';
  }

  private row(row: Row): HTMLElement {
    const element = row.kind === 'process' ? this.processRow(row) : this.laneRow(row);
    element.style.top = `${row.y}px`;
    element.style.height = `${row.height}px`;
    return element;
  }

  private processRow(row: Row): HTMLElement {
    const name = processName(row.process);
    const ended = row.process.state === 'lost' ? ' · lost' : '';
    return el(
      'div',
      { class: 'gutter-row process' },
      el(
        'button',
        {
          class: 'name',
          'aria-expanded': String(!row.collapsed),
          title: `${name} on ${row.process.host}${row.process.device ? `, ${row.process.device}` : ''}`,
          click: () => this.fold(row.key),
        },
        `${row.collapsed ? '▸' : '▾'} ${name}${ended}`,
      ),
    );
  }

  private laneRow(row: LaneRow): HTMLElement {
    const name = row.pinned ? `${processName(row.process)} · ${row.name}` : row.name;
    return el(
      'div',
      { class: `gutter-row lane${row.height < 20 ? ' tight' : ''}` },
      el(
        'button',
        { class: 'name', 'aria-expanded': String(!row.collapsed), title: `${name}: fold or open`, click: () => this.fold(row.key) },
        name,
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
