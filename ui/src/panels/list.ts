// The contents of the screen as a list, for reading, or for a screen reader. It has the intervals with boxes of their
// own, in order of time.

import { nsOfColumn } from '../api/picture.ts';
import { kindName } from '../model/looks/colours.ts';
import { counted, duration, moment } from '../model/words/format.ts';
import { processName } from '../model/rows/lanes.ts';
import type { State } from '../model/state.ts';
import type { Column } from '../model/table.ts';
import { el } from '../dom.ts';
import type { Panel } from './side.ts';
import { TableView } from './table_view.ts';

interface Row {
  track: number;
  begin: number;
  ns: number;
  name: string;
  kind: string;
  lane: string;
}

export class ListPanel implements Panel {
  readonly tab = 'list';
  readonly title = 'List';
  readonly element: HTMLElement;
  private readonly state: State;
  private readonly table: TableView<Row>;
  private readonly says = el('p', { class: 'soft', role: 'status' });
  private timer = 0;

  constructor(state: State, choose: (track: number, at: number) => void) {
    this.state = state;
    const columns: Column<Row>[] = [
      { key: 'begin', title: 'at', number: true, value: (row) => row.begin - state.whole.begin, format: moment, unit: 'ns', says: 'since the first event, in s' },
      { key: 'ns', title: 'took', number: true, value: (row) => row.ns, format: duration, unit: 'ns' },
      { key: 'name', title: 'what', value: (row) => row.name, under: (row) => `${row.kind} · ${row.lane}` },
      { key: 'kind', title: 'kind', hidden: true, value: (row) => row.kind },
      { key: 'lane', title: 'lane', hidden: true, value: (row) => row.lane },
    ];
    this.table = new TableView<Row>({
      columns,
      order: { key: 'begin', down: false },
      label: 'Events on the screen',
      empty: 'Nothing here is wide enough to be listed one by one: come nearer (W), or look at Selection for sums.',
      filterable: true,
      groups: [{ name: 'kind', of: (row) => row.kind }, { name: 'lane', of: (row) => row.lane }],
      choose: (row) => choose(row.track, row.begin),
    });
    this.element = el('div', { class: 'wide' }, this.says, this.table.element);
    // The list waits while a window moves; one of a followed live run stays as it was opened.
    state.on(['window', 'picture'], () => {
      if (state.tab !== 'list' || state.following) return;
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.show(), 400);
    });
  }

  show(): void {
    const { picture, window, run, definitions } = this.state;
    if (!picture || !run) return;
    const rows: Row[] = [];
    for (const track of run.tracks) {
      if (track.track_kind === 'modules') continue; // no events
      const process = run.processes.find((one) => one.process === track.process);
      for (const box of picture.boxes.get(track.track) ?? []) {
        const [begin, end] = [nsOfColumn(picture, box.begin), nsOfColumn(picture, box.end)];
        if (end < window.begin || begin > window.end) continue;
        const shade = run.shades.find((one) => one.shade === box.shade);
        rows.push({
          track: track.track,
          begin,
          ns: end - begin,
          name: definitions.nameOf(track.track_kind, box.subject),
          kind: kindName(shade?.shade_kind ?? track.track_kind),
          lane: track.track_kind === 'steps' ? (process ? processName(process) : '') : track.label,
        });
      }
    }
    this.says.textContent = `${counted(rows.length, 'event is', 'events are')} listed one by one, from ${moment(Math.max(window.begin - this.state.whole.begin, 0))} to ${moment(window.end - this.state.whole.begin)} s after the first event.${this.state.following ? ' The list stands still while the timeline follows; open it again for what is new.' : ''}`;
    this.table.set(rows);
  }
}
