// Shows the numbers that the job told of its steps, the scale of gradients, and casts, time and cache bytes by step.
// Dragging in a chart shows those steps in the timeline.

import uPlot from 'uplot';
import { api } from '../api/client.ts';
import type { Metric } from '../api/told.ts';
import type { StepRow } from '../api/types.ts';
import { metricCurve, rangeOf } from '../model/sums/curves.ts';
import type { Curve } from '../model/sums/curves.ts';
import { bytes, duration, grouped } from '../model/words/format.ts';
import { processName } from '../model/rows/lanes.ts';
import type { State } from '../model/state.ts';
import { readInk } from '../draw/ink.ts';
import { el, fill, nothing } from '../dom.ts';
import type { Panel } from './side.ts';

interface Chart {
  title: string;
  value(step: StepRow): number;
  says?: string;
  format(value: number): string;
  /** Distances of the axis's labels that read well in its unit; uPlot's own if left out. */
  steps?: number[];
}

// Labels are in powers of ten: 200 kB, 400 kB.
const kRound = Array.from({ length: 16 }, (_, i) => [1, 2, 5].map((one) => one * 10 ** i)).flat();

const kCharts: Chart[] = [
  { title: 'Casts in a step', value: (step) => each(step, step.casts), format: grouped },
  { title: 'Served from the cache', value: (step) => each(step, step.cache_hits), format: grouped },
  { title: 'CPU time of the casts', says: ' one value for steps in a row that did the same', value: (step) => each(step, step.cpu_ns), format: duration },
  { title: 'Bytes copied', value: (step) => each(step, step.bytes), format: bytes, steps: kRound },
  { title: 'Most bytes in the cache', value: (step) => step.most_cleared_bytes, format: bytes, steps: kRound },
];
const kMostPoints = 4000;

/** A row may stand for many steps that did the same. */
function each(step: StepRow, sum: number): number {
  return sum / (step.last_step - step.first_step + 1);
}

export class ChartsPanel implements Panel {
  readonly tab = 'charts';
  readonly title = 'Charts';
  readonly element = el('div');
  private readonly choice = el('select', { class: 'field', 'aria-label': 'Process' });
  private readonly body = el('div', { class: 'charts' });
  private readonly state: State;
  private readonly goTo: (begin: number, end: number) => void;
  private plots: uPlot[] = [];
  private process = 0;
  private askedMs = -Infinity;
  private metrics: Metric[] = [];
  private steps: { process: number; step_runs: StepRow[] }[] = [];

  constructor(state: State, goTo: (begin: number, end: number) => void) {
    this.state = state;
    this.goTo = goTo;
    this.choice.addEventListener('change', () => {
      this.process = Number(this.choice.value);
      this.draw();
    });
    this.element.append(el('p', { class: 'row' }, this.choice, el('span', { class: 'soft' }, 'drag in a chart to go to those steps')), this.body);
    state.on(['judgement', 'run'], () => {
      if (state.tab === 'charts') this.show();
    });
    state.on('look', () => {
      if (state.tab === 'charts') this.draw();
    });
    new ResizeObserver(() => this.resize()).observe(this.body);
  }

  show(): void {
    const { run } = this.state;
    if (!run || performance.now() - this.askedMs < 2000) return;
    this.askedMs = performance.now();
    Promise.all([api.steps(run.run_name), api.metrics(run.run_name)]).then(
      ([steps, metrics]) => {
        this.steps = steps;
        this.metrics = metrics;
        this.draw();
      },
      () => fill(this.body, nothing('The steps could not be asked for.')),
    );
  }

  private draw(): void {
    const { run } = this.state;
    if (!run) return;
    const known = this.steps.filter((one) => one.step_runs.length > 0);
    if (!known.some((one) => one.process === this.process)) this.process = known[0]?.process ?? 0;
    fill(this.choice, ...known.map((one) => {
      const process = run.processes.find((other) => other.process === one.process);
      return el('option', { value: one.process, selected: one.process === this.process }, process ? processName(process) : `process ${one.process}`);
    }));
    this.choice.hidden = known.length < 2;
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    const all = known.find((one) => one.process === this.process)?.step_runs ?? [];
    const steps = run.signal !== null || (run.exit_status ?? 0) !== 0 ? ended(all) : all;
    if (steps.length === 0) return fill(this.body, nothing('No step has ended yet.'));
    const shown = thinned(steps);
    this.body.replaceChildren();
    for (const metric of this.metrics) if (metric.process === this.process && metric.step_values.length > 0) this.add(metricCurve(metric), shown);
    for (const chart of kCharts) {
      const curve = stepCurve(chart, shown);
      if (curve) this.add(curve, shown);
    }
  }

  private add({ title, says, format, incrs, from, points }: Curve, steps: StepRow[]): void {
    const ink = readInk();
    const under = el('span', { class: 'soft' }, says);
    const holder = el('figure', {}, el('figcaption', {}, title, under));
    this.body.append(holder);
    const axis = { stroke: ink.soft, grid: { stroke: ink.line, width: 1 }, ticks: { show: false }, font: `11px ${ink.font}` };
    const plot = new uPlot(
      {
        width: Math.max(this.body.clientWidth, 200),
        height: 118,
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: 'steps' } },
        // All charts have the same steps from left to right.
        scales: { x: { time: false, range: [steps[0].first_step, Math.max(steps[steps.length - 1].last_step, steps[0].first_step + 1)] }, y: { range: (_plot, low, high) => rangeOf(from, low, high) } },
        axes: [
          { ...axis, size: 24, values: (_plot, splits) => splits.map((step) => (Number.isInteger(step) ? this.state.definitions.steps.nameOf(step).replace(/^evaluation.*/, '') : '')) },
          { ...axis, size: 84, space: 26, ...(incrs ? { incrs } : {}), values: (_plot, splits) => splits.map((value) => format(value)) },
        ],
        series: [
          { label: 'step' },
          { label: title.toLowerCase(), stroke: ink.accent, width: 1.5, points: { show: points.length < 60, size: 4 }, value: (_plot, value) => (value === null ? '' : format(value)) },
        ],
        hooks: {
          setSelect: [(self) => this.selected(self, steps)],
          setCursor: [({ cursor }) => {
            const at = cursor.idx === null || cursor.idx === undefined ? undefined : points[cursor.idx];
            under.textContent = at ? ` ${this.state.definitions.nameOf('steps', at.step)}: ${at.value === null ? 'not finite' : format(at.value)}` : says;
          }],
        },
      },
      [points.map((point) => point.step), points.map((point) => point.value)],
      holder,
    );
    this.plots.push(plot);
  }

  private selected(plot: uPlot, steps: StepRow[]): void {
    if (plot.select.width < 4) return;
    const from = plot.posToVal(plot.select.left, 'x');
    const to = plot.posToVal(plot.select.left + plot.select.width, 'x');
    const within = steps.filter((step) => step.last_step >= from && step.first_step <= to);
    if (within.length > 0) this.goTo(within[0].begin_ns, within[within.length - 1].end_ns);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  private resize(): void {
    const width = Math.max(this.body.clientWidth, 200);
    for (const plot of this.plots) if (plot.width !== width) plot.setSize({ width, height: 118 });
  }
}

/** Of a job that failed, without the last step if it is of its own kind: it did not come to its end, and would look like
 * one that did little. */
function ended(rows: StepRow[]): StepRow[] {
  const last = rows[rows.length - 1];
  return rows.length > 1 && last.first_step === last.last_step ? rows.slice(0, -1) : rows;
}

/** A row of many steps is a level line from its first to its last; null: there is nothing but zeros. */
function stepCurve(chart: Chart, steps: StepRow[]): Curve | null {
  const points = steps.flatMap((row) => {
    const value = chart.value(row);
    return row.last_step > row.first_step ? [{ step: row.first_step, value }, { step: row.last_step, value }] : [{ step: row.first_step, value }];
  });
  if (points.every(({ value }) => value === 0)) return null;
  return { title: chart.title, says: chart.says ?? '', format: chart.format, incrs: chart.steps, from: 'zero', points };
}

/** Of more steps than anybody can see, keeps the one with the most casts in each stretch, so that no peak is lost. */
function thinned(steps: StepRow[]): StepRow[] {
  if (steps.length <= kMostPoints) return steps;
  const size = Math.ceil(steps.length / kMostPoints);
  const kept: StepRow[] = [];
  for (let i = 0; i < steps.length; i += size)
    kept.push(steps.slice(i, i + size).reduce((most, step) => (step.casts > most.casts ? step : most)));
  return kept;
}
