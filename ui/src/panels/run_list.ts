// All runs that castscope knows here: when each began, what was run, how it ended, what was found, and what changed
// since the last run of the same command. Only what is asked for is worked out.

import { Refused, api } from '../api/client.ts';
import type { ChangesAnswer, DiffFinding } from '../api/told.ts';
import type { RunEntry, Severity } from '../api/types.ts';
import { counted, grouped, place } from '../model/words/format.ts';
import { changeOf, endingOf, shortCommand, startOf } from '../model/words/run_words.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';
import { openDialog } from './dialog.ts';

const kSeverities: Severity[] = ['error', 'warning', 'performance', 'info'];
const kMostFindings = 20;

export function openRunList(state: State, open: (run: string) => void): void {
  const body = el('div', {}, nothing('Asking for the runs…'));
  openDialog('Runs', body);
  api.runsWithCounts().then(
    (runs) => fill(body, list(state, runs, open)),
    () => fill(body, nothing('The runs could not be asked for.')),
  );
}

/** The newest first. */
function list(state: State, runs: RunEntry[], open: (run: string) => void): HTMLElement {
  if (runs.length === 0) return nothing('No run has come in yet.');
  const sorted = [...runs].sort((a, b) => (b.start ?? '').localeCompare(a.start ?? ''));
  const rows = sorted.flatMap((run) => row(state, run, open));
  return el(
    'div',
    { class: 'scroll-x run-list' },
    el(
      'table',
      { 'aria-label': 'Runs' },
      el('thead', {}, el('tr', {}, ...['run', 'began', 'command', 'end', 'casts', 'findings'].map((title) => el('th', { scope: 'col', class: title === 'casts' ? 'number' : '' }, title)))),
      el('tbody', {}, ...rows),
    ),
  );
}

function row(state: State, run: RunEntry, open: (run: string) => void): HTMLElement[] {
  const here = run.run_name === state.run?.run_name;
  const told = el('div');
  const below = el('tr', { class: 'run-changes', hidden: true }, el('td', { colspan: 6 }, told));
  const ask = el('button', { class: 'link', 'aria-expanded': 'false', click: () => {
    below.hidden = !below.hidden;
    ask.setAttribute('aria-expanded', String(!below.hidden));
    if (!below.hidden && told.childElementCount === 0) showChanges(told, run, state);
  } }, 'What changed');
  const line = el(
    'tr',
    { class: here ? 'chosen' : '' },
    el('td', {}, el('button', { class: 'link mono', disabled: here, click: () => open(run.run_name) }, run.run_name), here && el('span', { class: 'soft' }, ' shown'), run.read_error === undefined && el('span', { class: 'under' }, ask)),
    el('td', {}, startOf(run.start)),
    el('td', { title: run.command.join(' ') }, shortCommand(run.command)),
    el('td', { class: isBad(run) ? 'error' : '', title: run.read_error }, run.read_error === undefined ? endingOf(run) : 'cannot be read'),
    el('td', { class: 'number' }, run.run_counts ? grouped(run.run_counts.casts) : ''),
    el('td', {}, ...found(run)),
  );
  return [line, below];
}

function isBad(run: RunEntry): boolean {
  return run.read_error !== undefined || run.signal !== null || (run.exit_status ?? 0) !== 0;
}

function found(run: RunEntry): HTMLElement[] {
  const counts = run.run_counts?.findings_by_severity;
  if (!counts) return [];
  const some = kSeverities.filter((severity) => counts[severity] > 0);
  if (some.length === 0) return [el('span', { class: 'soft' }, 'none')];
  return some.map((severity) => el('span', { class: `found ${severity}` }, `${grouped(counts[severity])} ${severity}`));
}

function showChanges(into: HTMLElement, run: RunEntry, state: State): void {
  fill(into, nothing('Comparing…'));
  api.changes(run.run_name).then(
    (answer) => fill(into, ...changesOf(answer, state)),
    (error: unknown) => fill(into, nothing(error instanceof Refused ? `It could not be compared: ${error.message}` : 'castscope does not answer.')),
  );
}

function changesOf({ previous_run: previous, changes }: ChangesAnswer, state: State): (HTMLElement | false)[] {
  if (previous === null || changes === null) return [nothing('No earlier run of this command, in this folder, is here.')];
  const { new_findings: added, fixed_findings: fixed } = changes.finding_changes;
  const steps = changes.total_changes.step_count;
  const casts = changes.total_changes.casts;
  const perStep = { before: casts.before / Math.max(steps.before, 1), after: casts.after / Math.max(steps.after, 1) };
  return [
    el(
      'p',
      {},
      'Since ', el('b', {}, previous), ': ',
      [
        added.length > 0 ? counted(added.length, 'new finding', 'new findings') : '',
        fixed.length > 0 ? counted(fixed.length, 'fixed finding', 'fixed findings') : '',
        added.length + fixed.length === 0 ? 'no finding came or went' : '',
        `casts per step ${changeOf(perStep.before, perStep.after)} (${grouped(Math.round(perStep.before * 10) / 10)} to ${grouped(Math.round(perStep.after * 10) / 10)})`,
      ].filter((part) => part !== '').join(', '),
      '.',
    ),
    ...findings('New', added, state),
    ...findings('Fixed', fixed, state),
    changes.doubts.length > 0 && el('p', { class: 'soft' }, changes.doubts.join(' ')),
  ];
}

function findings(title: string, list: DiffFinding[], state: State): HTMLElement[] {
  if (list.length === 0) return [];
  const lines = list.slice(0, kMostFindings).map((one) => el('li', {}, el('code', {}, one.rule), ` ${one.title} `, el('span', { class: 'soft mono' }, place(one, state.run?.cwd ?? ''))));
  const rest = list.length - lines.length;
  return [el('h3', {}, title), el('ul', {}, ...lines, ...(rest > 0 ? [el('li', { class: 'soft' }, `and ${grouped(rest)} more`)] : []))];
}
