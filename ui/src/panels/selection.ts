// The contents of the selected area: totals by kind, then the rows, grouped as the viewer likes. Without a selection,
// those of the stretch that is shown.

import { api } from '../api/client.ts';
import type { Kernel, OperatorUse, Region, Site, Summary, SummaryRow, TrackKind } from '../api/types.ts';
import { kindName } from '../model/looks/colours.ts';
import { shortOperator } from '../model/definitions.ts';
import { bytes, duration, grouped, moment, percent, place, shortPath } from '../model/words/format.ts';
import type { Mark } from '../model/time/marks.ts';
import type { State } from '../model/state.ts';
import type { Column } from '../model/table.ts';
import { toldApart } from '../model/tell_apart.ts';
import type { Area } from '../model/url_state.ts';
import { el, fill } from '../dom.ts';
import { DurationsView } from './durations.ts';
import type { Of } from './durations.ts';
import { exportButtons } from './export.ts';
import { MarkList } from './marks.ts';
import type { Panel } from './side.ts';
import { TableView } from './table_view.ts';

/** What has a duration, and the kinds of events by which a summary shows that there is some of it. */
const kTimedKinds: { kind: TrackKind; shades: string[] }[] = [
  { kind: 'casts', shades: ['down', 'up', 'same'] },
  { kind: 'operators', shades: ['operator'] },
  { kind: 'kernels', shades: ['cast_kernel', 'kernel', 'gpu_copy'] },
  { kind: 'steps', shades: ['step', 'step_deep'] },
];

export interface SelectionActions {
  zoom(): void;
  compare(): void;
  goToMark(mark: Mark): void;
  choose(row: SummaryRow): void;
}

export class SelectionPanel implements Panel {
  readonly tab = 'selection';
  readonly title = 'Selection';
  readonly element: HTMLElement;
  private readonly head = el('div');
  private readonly of = el('select', { class: 'field', 'aria-label': 'How long these took' });
  private readonly durations: DurationsView;
  private readonly howLong: HTMLElement;
  /** An entry of the choice, which stays while it is there. */
  private wanted = '';
  private readonly state: State;
  private readonly actions: SelectionActions;
  private readonly table: TableView<SummaryRow>;
  private timer = 0;
  private turn = 0;

  constructor(state: State, actions: SelectionActions) {
    this.state = state;
    this.actions = actions;
    this.durations = new DurationsView(state);
    this.howLong = el('section', { class: 'how-long', hidden: true }, el('h3', {}, 'How long ', this.of, ' took'), this.durations.element);
    const columns: Column<SummaryRow>[] = [
      { key: 'name', title: 'what', value: (row) => state.definitions.nameOf(row.track_kind, row.subject), under: (row) => this.under(row) },
      { key: 'kind', title: 'kind', hidden: true, value: (row) => kindName(row.shade_kind) },
      { key: 'operator', title: 'operator', hidden: true, value: (row) => this.groupOf(row, 'operator') },
      { key: 'module', title: 'module', hidden: true, value: (row) => this.groupOf(row, 'module') },
      { key: 'file', title: 'place', hidden: true, value: (row) => this.placeOf(row) },
      { key: 'count', title: 'count', number: true, value: (row) => row.event_count, format: grouped },
      { key: 'ns', title: 'time', number: true, value: (row) => row.window_ns, format: duration, unit: 'ns', says: 'that lies in the selection' },
      { key: 'bytes', title: 'bytes', number: true, value: (row) => row.event_bytes, format: bytes, unit: 'B' },
    ];
    this.table = new TableView<SummaryRow>({
      columns,
      order: { key: 'ns', down: true },
      memory: { state, name: 'selection' },
      label: 'What is in the selection',
      empty: 'Nothing lies in this stretch.',
      filterable: true,
      groups: (['kind', 'operator', 'module', 'file', 'site'] as const).map((name) => ({
        name,
        of: (row: SummaryRow) => this.groupOf(row, name),
      })),
      choose: (row) => actions.choose(row),
    });
    this.table.tool(exportButtons('selection', columns, () => this.table.visible()));
    this.of.addEventListener('change', () => {
      this.wanted = this.of.value;
      this.soon(0);
    });
    this.element = el('div', { class: 'wide' }, this.head, new MarkList(state, (mark) => actions.goToMark(mark)).element, this.howLong, this.table.element);
    state.on('selection', () => this.soon(0));
    state.on('hidden', () => this.soon(0)); // hidden events do not count any more
    state.on('find', () => {
      if (state.onlyFound) this.soon(0);
    });
    state.on('run', () => {
      if (this.turn === 0) this.soon(0);
    });
    state.on('window', () => {
      if (!state.selection) this.soon(350);
    });
  }

  show(): void {
    this.soon(0);
  }

  private soon(ms: number): void {
    if (this.state.tab !== 'selection') return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(), ms);
  }

  private async ask(): Promise<void> {
    const { state } = this;
    if (!state.run) return;
    const { selection, window } = state;
    const begin = Math.max(selection?.begin ?? window.begin, 0);
    const end = Math.max(selection?.end ?? window.end, begin + 1);
    this.turn += 1;
    const turn = this.turn;
    const summary = await api
      .summary(state.run.run_name, begin, end, selection?.tracks ?? undefined, state.hiddenShades(), state.onlyFind)
      .catch(() => null);
    if (turn !== this.turn) return;
    if (!summary) return fill(this.head, el('p', { class: 'nothing' }, 'No answer: the summary could not be asked for.'));
    this.drawHead(summary);
    const { definitions, run } = state;
    this.told = toldApart(summary.by_subject, (row) => `${definitions.nameOf(row.track_kind, row.subject)} ${row.shade_kind} ${this.groupOf(row, 'module')} ${this.placeOf(row)}`, (row) => definitions.traitsOf(row.track_kind, row.subject, run?.cwd ?? ''), (row) => row.subject);
    this.table.set(summary.by_subject);
    this.askDurations(summary, { begin, end, tracks: selection?.tracks ?? null });
  }

  private drawHead(summary: Summary): void {
    const { state, actions } = this;
    const length = summary.window_end_ns - summary.window_begin_ns;
    const kinds = [...summary.by_shade_kind].sort((a, b) => b.window_ns - a.window_ns || b.event_count - a.event_count);
    fill(
      this.head,
      el('h2', {}, `${state.selection ? 'Selected' : 'Shown'}: ${duration(length)}`),
      el('p', { class: 'soft mono' }, `${moment(summary.window_begin_ns - state.whole.begin)} – ${moment(summary.window_end_ns - state.whole.begin)} s after the first event`),
      !state.selection && el('p', { class: 'soft' }, 'Drag over lanes to select an area.'),
      this.notKept(summary),
      !summary.exact && el('p', { class: 'soft' }, 'Single events of this stretch are no longer held: times at its ends are rounded.'),
      el(
        'table',
        { class: 'kinds', 'aria-label': 'By kind' },
        el('thead', {}, el('tr', {}, ...['kind', 'events', 'time', 'of its length', 'bytes'].map((title, i) => el('th', { scope: 'col', class: i > 0 ? 'number' : '' }, title)))),
        el('tbody', {}, ...kinds.map((kind) =>
          el('tr', {}, el('td', {}, kindName(kind.shade_kind)), el('td', { class: 'number' }, grouped(kind.event_count)), el('td', { class: 'number' }, kind.window_ns > 0 ? duration(kind.window_ns) : ''), el('td', { class: 'number', title: 'of its length; several threads together may have more than 100 %' }, kind.window_ns > 0 ? percent(kind.window_ns / length) : ''), el('td', { class: 'number' }, kind.event_bytes > 0 ? bytes(kind.event_bytes) : '')),
        )),
      ),
      el(
        'p',
        { class: 'row' },
        state.selection !== null && el('button', { class: 'act', click: actions.zoom }, 'Zoom to it'),
        el('button', { class: 'act', click: actions.compare }, 'Compare with another stretch'),
      ),
    );
  }

  /** A stretch whose events were not kept is not idle. */
  private notKept({ window_begin_ns: begin, window_end_ns: end }: Summary): HTMLElement | false {
    const spans = (this.state.run?.processes ?? []).flatMap((one) => one.events_not_kept);
    const ns = Math.max(0, ...spans.map((span) => Math.min(span.end_ns, end) - Math.max(span.begin_ns, begin)));
    return ns > 0 && el('p', { class: 'warn' }, `For ${duration(ns)} of this the run file keeps no single events, so what happened there is not counted here. The counts of Sites, Modules and Charts have it; --keep all keeps all events.`);
  }

  private askDurations(summary: Summary, area: Area): void {
    const { event, definitions, run } = this.state;
    const kinds = kTimedKinds.filter(({ shades }) => summary.by_shade_kind.some((one) => shades.includes(one.shade_kind)));
    const choices: [string, string, Of][] = kinds.map(({ kind }) => [kind, kind, { track_kind: kind }]);
    const chosen = event && run?.tracks.find((one) => one.track === event.track)?.track_kind;
    if (event && event.subject > 0 && kTimedKinds.some(({ kind }) => kind === chosen && kind !== 'steps'))
      choices.push(['chosen', `all of the chosen ${definitions.nameOf(chosen!, event.subject)}`, { track_kind: chosen!, subject: event.subject }]);
    this.howLong.hidden = choices.length === 0;
    if (choices.length === 0) return this.durations.clear();
    const of = choices.find(([key]) => key === this.wanted) ?? choices[0];
    fill(this.of, ...choices.map(([key, name]) => el('option', { value: key, selected: key === of[0] }, name)));
    void this.durations.ask(area, of[2]);
  }

  /** What rows that read the same differ by. */
  private told = new Map<SummaryRow, string>();

  private under(row: SummaryRow): string {
    const module = this.groupOf(row, 'module');
    return [kindName(row.shade_kind), module === row.track_kind ? '' : module, this.placeOf(row), this.told.get(row) ?? ''].filter((one) => one !== '').join(' · ');
  }

  private definitionOf(row: SummaryRow): Site | OperatorUse | Kernel | Region | undefined {
    const { definitions } = this.state;
    if (row.track_kind === 'casts') return definitions.sites.get(row.subject);
    if (row.track_kind === 'operators') return definitions.uses.get(row.subject);
    if (row.track_kind === 'kernels') return definitions.kernels.get(row.subject);
    return row.track_kind === 'regions' ? definitions.regions.get(row.subject) : undefined;
  }

  private placeOf(row: SummaryRow): string {
    const of = this.definitionOf(row);
    return of?.file ? place(of, this.state.run?.cwd ?? '') : '';
  }

  private groupOf(row: SummaryRow, by: 'kind' | 'operator' | 'module' | 'file' | 'site'): string {
    const { definitions, run } = this.state;
    if (by === 'kind') return kindName(row.shade_kind);
    if (by === 'site') return definitions.nameOf(row.track_kind, row.subject);
    const of = this.definitionOf(row);
    if (by === 'file') return of?.file ? shortPath(of.file, run?.cwd ?? '') : '';
    // Regions, steps and marks belong to no operator and no module.
    if (!of || !('operator' in of)) return row.track_kind;
    return by === 'operator' ? shortOperator(of.operator ?? '') : (of.module ?? '');
  }
}
