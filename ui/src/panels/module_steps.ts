// Modules by steps as a picture: a row for each module that casts, a column for each step, darker where it cast more.

import { api } from '../api/client.ts';
import type { Behaviour } from '../api/told.ts';
import type { ProcessSteps } from '../api/types.ts';
import { Surface, readInk } from '../draw/ink.ts';
import { costColour, css } from '../model/looks/colours.ts';
import { counted, grouped } from '../model/words/format.ts';
import { processName } from '../model/rows/lanes.ts';
import { kStepMeasures, moduleCounts, rowOfCounts, stretchAt, stretchesOf } from '../model/sums/module_steps.ts';
import type { ModuleCounts, StepMeasure, StepStretch } from '../model/sums/module_steps.ts';
import { searchForModule } from '../model/search.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';

export interface ModuleStepsActions {
  /** Shows what this module did in this step (as its process numbers it). */
  goTo(search: string, step: number): void;
}

const kRowPx = 15;
const kMostRows = 400;

export class ModuleSteps {
  readonly element: HTMLElement;
  private readonly state: State;
  private readonly actions: ModuleStepsActions;
  private readonly body = el('div', { class: 'module-steps-body' });
  private readonly says = el('p', { class: 'flame-says soft', role: 'status' });
  private readonly process = el('select', { class: 'field', 'aria-label': 'Process' });
  private measure: StepMeasure = 'casts';
  private processes: ProcessSteps[] = [];
  private behaviours: Behaviour[] = [];
  private rows: ModuleCounts[] = [];
  private stretches: StepStretch[] = [];
  /** The cell of the keyboard: row and step. */
  private at = { row: 0, step: 0 };
  private turn = 0;

  constructor(state: State, actions: ModuleStepsActions) {
    this.state = state;
    this.actions = actions;
    const measure = el('select', { class: 'field', 'aria-label': 'Measure' }, ...kStepMeasures.map((one) => el('option', { value: one }, one === 'casts' ? 'casts' : 'cache hits')));
    measure.addEventListener('change', () => {
      this.measure = measure.value as StepMeasure;
      this.draw();
    });
    this.process.addEventListener('change', () => this.draw());
    this.element = el('div', { class: 'module-steps' }, el('div', { class: 'row table-tools' }, measure, this.process, this.says), this.body);
    state.on('judgement', () => void this.ask());
    state.on(['look', 'definitions'], () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  show(): void {
    void this.ask();
  }

  private async ask(): Promise<void> {
    const { run } = this.state;
    if (!run || !this.element.isConnected) return;
    this.turn += 1;
    const turn = this.turn;
    const both = await Promise.all([api.steps(run.run_name), api.behaviours(run.run_name)]).catch(() => null);
    if (turn !== this.turn) return;
    if (!both) return fill(this.body, nothing('The steps could not be asked for.'));
    this.processes = both[0].filter((one) => one.step_runs.length > 0);
    this.behaviours = both[1];
    const names = new Map(run.processes.map((one) => [one.process, processName(one)]));
    const chosen = this.process.value;
    fill(this.process, ...this.processes.map(({ process }) => el('option', { value: process, selected: String(process) === chosen }, names.get(process) ?? `process ${process}`)));
    this.process.hidden = this.processes.length < 2;
    this.draw();
  }

  private draw(): void {
    if (!this.element.isConnected || this.body.clientWidth === 0) return;
    const steps = this.processes.find((one) => String(one.process) === this.process.value) ?? this.processes[0];
    // Definitions may come after the counts.
    this.rows = moduleCounts(this.behaviours, this.state.definitions.sites);
    if (!steps || this.rows.length === 0) return fill(this.body, nothing('No step has ended yet, or none of them cast.'));
    this.stretches = stretchesOf(steps.step_runs);
    const rows = this.rows.slice(0, kMostRows);
    const canvas = el('canvas', { tabindex: 0, role: 'img', 'aria-label': `${counted(rows.length, 'module', 'modules')} by ${counted(this.last - this.first + 1, 'step', 'steps')}: arrows go from cell to cell, Enter shows it in the timeline` });
    canvas.style.height = `${rows.length * kRowPx}px`;
    const names = el('div', { class: 'module-names' }, ...rows.map((row) => el('div', { title: nameOfRow(row) }, el('bdi', {}, nameOfRow(row)))));
    fill(this.body, names, canvas, this.rows.length > rows.length && el('p', { class: 'soft' }, `${grouped(this.rows.length - rows.length)} more modules`));
    if (this.says.textContent === '') this.says.textContent = 'A column for each step: darker where a module cast more, with a dark edge where it did not cast as in most steps.';
    this.paint(canvas, rows);
    this.listen(canvas, rows);
  }

  private get first(): number {
    return this.stretches[0].first;
  }
  private get last(): number {
    return this.stretches[this.stretches.length - 1].last;
  }

  private paint(canvas: HTMLCanvasElement, rows: readonly ModuleCounts[]): void {
    const surface = new Surface(canvas);
    surface.resize();
    const ink = readInk();
    const context = surface.clear(ink.back);
    const width = Math.max(Math.round(surface.width), 1);
    const counts = rows.map((row) => rowOfCounts(row, this.stretches, this.first, this.last, width, this.measure));
    const most = Math.max(1, ...counts.map((row) => row.reduce((a, b) => Math.max(a, b), 0)));
    counts.forEach((row, i) => {
      const usual = usualOf(row);
      for (let x = 0; x < width; ) {
        let to = x + 1;
        while (to < width && row[to] === row[x]) to += 1;
        if (row[x] !== 0) {
          context.fillStyle = row[x] < 0 ? ink.band : css(costColour(row[x] / most, this.state.theme));
          context.fillRect(x, i * kRowPx, to - x, kRowPx - 1);
        }
        if (row[x] >= 0 && row[x] !== usual) {
          context.fillStyle = ink.text;
          context.fillRect(x, i * kRowPx, to - x, 2);
        }
        x = to;
      }
    });
  }

  private listen(canvas: HTMLCanvasElement, rows: readonly ModuleCounts[]): void {
    const steps = () => this.last - this.first + 1;
    const under = (event: MouseEvent) => ({ row: Math.min(Math.floor(event.offsetY / kRowPx), rows.length - 1), step: this.first + Math.min(Math.floor((event.offsetX / canvas.clientWidth) * steps()), steps() - 1) });
    const go = () => this.actions.goTo(searchOf(rows[this.at.row]), this.at.step);
    canvas.addEventListener('pointermove', (event) => this.tell(rows, under(event)));
    canvas.addEventListener('click', (event) => {
      this.at = under(event);
      go();
    });
    canvas.addEventListener('keydown', (event) => {
      const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const by = moves[event.key];
      if (event.key !== 'Enter' && !by) return;
      event.preventDefault();
      event.stopPropagation();
      if (!by) return go();
      this.at = { row: Math.min(Math.max(this.at.row + by[0], 0), rows.length - 1), step: Math.min(Math.max(this.at.step + by[1], this.first), this.last) };
      this.tell(rows, this.at);
    });
  }

  private tell(rows: readonly ModuleCounts[], { row, step }: { row: number; step: number }): void {
    const of = rows[Math.max(row, 0)];
    const stretch = stretchAt(this.stretches, step);
    const counts = stretch?.behaviour == null ? null : (of.byBehaviour.get(stretch.behaviour) ?? { casts: 0, hits: 0 });
    const name = this.state.definitions.nameOf('steps', step);
    const words = counts ? `${counted(counts.casts, 'cast', 'casts')}, ${grouped(counts.hits)} from the cache` : 'not known: several kinds of steps are counted together';
    this.says.textContent = `${nameOfRow(of)}, ${name}: ${words}`;
  }
}

function nameOfRow({ module, model }: ModuleCounts): string {
  return module !== '' ? module : model !== '' ? model : 'outside of modules';
}

/** What a module has in most columns; what differs from it is marked. */
function usualOf(row: Float32Array): number {
  const counts = new Map<number, number>();
  for (const value of row) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [-1, 0])[0];
}

function searchOf(row: ModuleCounts): string {
  return row.module === '' && row.model === '' ? '' : searchForModule(row.model, row.module, true);
}
