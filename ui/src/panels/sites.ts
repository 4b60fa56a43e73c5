// Every place that casts, with exact counts of the whole run.

import { api } from '../api/client.ts';
import type { Site, SiteCounts } from '../api/types.ts';
import { causeName } from '../model/looks/colours.ts';
import { argumentWords, castOf, shortOperator } from '../model/definitions.ts';
import { bytes, duration, grouped, place, shortPath, timeOf } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import type { Column } from '../model/table.ts';
import { toldApart } from '../model/tell_apart.ts';
import { el } from '../dom.ts';
import { exportButtons } from './export.ts';
import type { Panel } from './side.ts';
import { TableView } from './table_view.ts';

interface Row extends SiteCounts {
  of: Site | undefined;
}

export class SitesPanel implements Panel {
  readonly tab = 'sites';
  readonly title = 'Sites';
  readonly element: HTMLElement;
  private readonly state: State;
  private readonly table: TableView<Row>;
  private counts: SiteCounts[] = [];
  private stale = true;

  constructor(state: State, choose: (site: number) => void) {
    this.state = state;
    const cwd = () => state.run?.cwd ?? '';
    const columns: Column<Row>[] = [
      {
        key: 'site',
        title: 'site',
        value: (row) => nameOf(row),
        under: (row) => [this.under(row), this.told.get(row) ?? ''].filter((one) => one !== '').join(' · '),
      },
      { key: 'model', title: 'model', hidden: true, value: (row) => row.of?.model ?? '' },
      { key: 'module', title: 'module', hidden: true, value: (row) => row.of?.module ?? '' },
      { key: 'place', title: 'place', hidden: true, value: (row) => (row.of ? place(row.of, cwd()) : '') },
      { key: 'casts', title: 'casts', number: true, value: (row) => row.casts, format: grouped },
      { key: 'hits', title: 'hits', number: true, value: (row) => row.cache_hits, format: grouped, says: 'served from the cache' },
      { key: 'bytes', title: 'bytes', number: true, value: (row) => row.bytes, format: bytes, unit: 'B', says: 'of the copies' },
      { key: 'cpu_ns', title: 'CPU', number: true, value: (row) => row.cpu_ns, text: (row) => timeOf(row.cpu_ns, row.casts), format: duration, unit: 'ns', says: 'CPU time of the casts' },
    ];
    this.table = new TableView<Row>({
      columns,
      order: { key: 'cpu_ns', down: true },
      memory: { state, name: 'sites' },
      label: 'Sites',
      empty: 'Nothing has been cast.',
      filterable: true,
      groups: [
        { name: 'line', of: (row) => (row.of ? place(row.of, cwd()) : '') },
        { name: 'module', of: (row) => [this.models > 1 ? (row.of?.model ?? '') : '', row.of?.module ?? ''].filter((one) => one !== '').join(' · ') },
        { name: 'operator', of: (row) => row.of?.operator ?? '' },
        { name: 'file', of: (row) => (row.of?.file ? shortPath(row.of.file, cwd()) : '') },
        { name: 'cause', of: (row) => (row.of ? causeName(row.of.cause) : '') },
        { name: 'dtypes', of: (row) => (row.of ? `${row.of.from_dtype} → ${row.of.to_dtype}` : '') },
      ],
      choose: (row) => choose(row.site),
      chosen: (row) => this.state.event?.subject === row.site,
    });
    this.table.tool(exportButtons('sites', columns, () => this.table.visible()));
    this.element = el('div', { class: 'wide' }, this.table.element);
    state.on(['judgement', 'run'], () => {
      this.stale = true;
      if (state.tab === 'sites') this.show();
    });
    state.on('definitions', () => this.put());
  }

  private askedMs = -Infinity;
  private models = 0;
  /** What rows that read the same differ by. */
  private told = new Map<Row, string>();

  private under({ of }: Row): string {
    if (!of) return '';
    return [this.models > 1 ? (of.model ?? '') : '', of.module ?? '', place(of, this.state.run?.cwd ?? '')].filter((one) => one !== '').join(' · ');
  }

  show(): void {
    const { run, live } = this.state;
    // A live run changes all the time: once in two seconds is enough for reading.
    if (!run || !this.stale || (live && performance.now() - this.askedMs < 2000)) return;
    this.stale = false;
    this.askedMs = performance.now();
    api.sites(run.run_name).then(
      (counts) => {
        this.counts = counts;
        this.put();
      },
      () => (this.stale = true),
    );
  }

  private put(): void {
    if (this.state.tab !== 'sites') return;
    this.models = new Set([...this.state.definitions.sites.values()].map((site) => site.model).filter((model) => model !== null)).size;
    const { definitions, run } = this.state;
    const rows = this.counts
      .filter((row) => row.casts + row.cache_hits + row.pass_throughs > 0)
      .map((row) => ({ ...row, of: definitions.sites.get(row.site) }));
    this.told = toldApart(rows, (row) => nameOf(row) + this.under(row), (row) => definitions.traitsOf('casts', row.site, run?.cwd ?? ''), (row) => row.site);
    this.table.set(rows);
  }
}

function nameOf(row: Row): string {
  const site = row.of;
  if (!site) return `site ${row.site}`;
  const what = `${site.operator ? shortOperator(site.operator) : site.cause} ${argumentWords(site.argument)}`.trim();
  return `${what} ${castOf(site)}`.trim();
}
