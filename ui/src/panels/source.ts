// The source with its casts in the margin: a file of the job, each line with its casts.

import { api } from '../api/client.ts';
import type { Finding, SourceFile, SourceFileRow } from '../api/types.ts';
import { counted, duration, grouped, shortPath, timeOf } from '../model/words/format.ts';
import { pythonTokens } from '../model/words/python_tokens.ts';
import type { State } from '../model/state.ts';
import { castsByCallingLine } from '../model/sums/calling_lines.ts';
import { el, fill, nothing } from '../dom.ts';
import { editorChoice, editorLink } from './editor.ts';
import type { Panel } from './side.ts';

// A long file is put on the page in pieces, so that the page stays responsive.
const kLinesAtOnce = 300;

export interface SourceActions {
  /** Goes to casts of these sites. */
  choose(sites: number[]): void;
  /** Shows a finding, or all of them. */
  finding(finding: Finding | null): void;
}

export class SourcePanel implements Panel {
  readonly tab = 'source';
  readonly title = 'Source';
  readonly element = el('div');
  private readonly state: State;
  private readonly actions: SourceActions;
  private readonly editor: HTMLElement;
  private shown = '';
  private turn = 0;
  /** The casts that the lines of the file lead to. */
  private calling: ReadonlyMap<number, number> = new Map();

  constructor(state: State, actions: SourceActions) {
    this.state = state;
    this.actions = actions;
    this.editor = editorChoice(state);
    state.on('editor', () => {
      this.shown = '';
      if (state.tab === 'source') this.show();
    });
    state.on('judgement', () => {
      if (state.tab === 'source' && !state.live) {
        this.shown = '';
        this.show();
      }
    });
  }

  show(): void {
    const { run, source } = this.state;
    if (!run) return;
    const key = `${run.run_name} ${source ? `${source.file}:${source.line}` : ''}`;
    if (key === this.shown && source !== null) return;
    this.shown = key;
    this.turn += 1;
    const turn = this.turn;
    const answer = source === null ? this.files(run.run_name, turn) : this.file(run.run_name, source.file, source.line, turn);
    answer.catch(() => {
      if (turn !== this.turn) return;
      this.shown = '';
      fill(this.element, this.back(), nothing('The source could not be asked for. Open this tab again to try once more.'));
    });
  }

  private open(file: string | null): void {
    this.state.source = file === null ? null : { file, line: null };
    this.state.tell('tab');
  }

  private back(): HTMLElement {
    return el('p', {}, el('button', { class: 'link', click: () => this.open(null) }, '‹ all files'));
  }

  private async files(run: string, turn: number): Promise<void> {
    const files = await api.sourceFiles(run);
    if (turn !== this.turn) return;
    const cwd = this.state.run?.cwd ?? '';
    const most = Math.max(1, ...files.map((file) => file.cpu_ns));
    const line = (row: SourceFileRow) => {
      const bar = el('i', { class: 'bar', 'aria-hidden': 'true' });
      bar.style.width = `${(row.cpu_ns / most) * 100}%`;
      return el(
        'li',
        {},
        el('button', { class: 'link mono', title: row.file, click: () => this.open(row.file) }, shortPath(row.file, cwd)),
        el('span', { class: 'soft number' }, `${counted(row.casts, 'cast', 'casts')} · ${timeOf(row.cpu_ns, row.casts)}`),
        bar,
      );
    };
    fill(
      this.element,
      el('h2', {}, 'Files that cast'),
      this.editor,
      files.length === 0 ? nothing('No cast has a Python line so far.') : el('ul', { class: 'files' }, ...[...files].sort((a, b) => b.cpu_ns - a.cpu_ns).map(line)),
    );
  }

  private async file(run: string, name: string, at: number | null, turn: number): Promise<void> {
    const [file, sites, stacks] = await Promise.all([api.sourceFile(run, name), api.sites(run), api.stacks(run)]);
    if (turn !== this.turn) return;
    this.calling = castsByCallingLine(name, sites, stacks);
    const cwd = this.state.run?.cwd ?? '';
    const head = el('div', { class: 'line head', role: 'row' }, el('span', { class: 'badges', role: 'columnheader' }, el('span', { class: 'only-read' }, 'findings')), el('span', { class: 'margin', role: 'columnheader' }, 'casts, CPU time'), el('span', { class: 'line-number', role: 'columnheader' }, 'line'), el('code', { role: 'columnheader' }, 'code'));
    const code = el('div', { class: 'code', role: 'table', 'aria-label': shortPath(name, cwd) }, head);
    fill(
      this.element,
      this.back(),
      el('h2', { class: 'mono' }, shortPath(name, cwd)),
      this.editor,
      file.source_state === 'changed' && el('p', { class: 'warn' }, 'This file has changed since the run: lines may not fit.'),
      file.source_lines.length === 0 ? nothing('The file is not there any more, or was never readable here. Casts by line:') : null,
      code,
    );
    this.addLines(code, file, this.linesOf(file), 0, at ?? firstLine(file), turn);
  }

  private linesOf(file: SourceFile): SourceFile['source_lines'] {
    if (file.source_lines.length > 0) return file.source_lines;
    return Object.keys(file.casts_by_line).map(Number).sort((a, b) => a - b).map((line) => ({ line, source_text: '' }));
  }

  private addLines(code: HTMLElement, file: SourceFile, lines: SourceFile['source_lines'], from: number, at: number, turn: number): void {
    if (turn !== this.turn) return;
    const most = Math.max(1, ...Object.values(file.casts_by_line).map((one) => one.cpu_ns));
    const piece = lines.slice(from, from + kLinesAtOnce);
    for (const line of piece) code.append(this.line(file, line, most, line.line === at));
    if (piece.some((line) => line.line === at)) code.querySelector('.here')?.scrollIntoView({ block: 'center' });
    if (from + kLinesAtOnce < lines.length) requestAnimationFrame(() => this.addLines(code, file, lines, from + kLinesAtOnce, at, turn));
  }

  private line(file: SourceFile, { line, source_text }: SourceFile['source_lines'][number], most: number, here: boolean): HTMLElement {
    const casts = file.casts_by_line[line];
    const rules = file.rules_by_line[line] ?? [];
    const margin = el('span', { class: 'margin', role: 'cell' });
    if (casts) {
      const button = el(
        'button',
        {
          class: 'heat',
          title: `${counted(casts.casts, 'cast', 'casts')}, ${grouped(casts.cache_hits)} from the cache, ${timeOf(casts.cpu_ns, casts.casts)}: show in the timeline`,
          click: () => this.actions.choose(casts.site_ids),
        },
        compact(casts.casts),
        el('small', {}, casts.cpu_ns > 0 ? duration(casts.cpu_ns) : ''),
      );
      button.style.setProperty('--heat', `${Math.round((casts.cpu_ns / most) * 100)}%`);
      margin.append(button);
    } else {
      const called = this.calling.get(line) ?? 0;
      if (called > 0) margin.append(el('span', { class: 'calling', title: `${counted(called, 'cast', 'casts')} in what this line calls` }, `calls ${compact(called)}`));
    }
    const findings = this.state.links().atLine(file.file, line);
    // A rule may have been silenced, or its finding may be about another line: then the list of findings is shown.
    const badges = rules.map((rule) => {
      const finding = findings.find((one) => one.rule === rule);
      return el('button', { class: `rule ${finding?.severity ?? ''}`, 'aria-label': `finding: ${rule}`, title: finding ? `${rule}: ${finding.title}` : rule, click: () => this.actions.finding(finding ?? null) }, '!');
    });
    return el(
      'div',
      { class: `line${here ? ' here' : ''}${casts ? ' casts' : ''}`, role: 'row' },
      el('span', { class: 'badges', role: 'cell' }, ...badges),
      margin,
      el('span', { class: 'line-number', role: 'cell' }, editorLink(this.state, { file: file.file, line }, String(line)) || line),
      el('code', { role: 'cell' }, ...pythonTokens(source_text).map(({ kind, text }) => (kind === 'plain' ? text : el('span', { class: `py-${kind}` }, text)))),
    );
  }
}

/** Where to start reading: the costliest line. */
function firstLine(file: SourceFile): number {
  let best = 0;
  let most = -1;
  for (const [line, casts] of Object.entries(file.casts_by_line))
    if (casts.cpu_ns > most) {
      most = casts.cpu_ns;
      best = Number(line);
    }
  return best;
}

function compact(count: number): string {
  if (count < 1e4) return grouped(count);
  return count < 1e6 ? `${Math.round(count / 1e3)}k` : `${(count / 1e6).toFixed(1)}M`;
}
