// One finding: what is wrong, where, what to do. When it is open it also shows the code, the evidence, and why the rule
// looks for this.

import type { RuleWords } from '../api/told.ts';
import type { Finding, Place, SourceFile } from '../api/types.ts';
import { bytes, duration, grouped, percent, place } from '../model/words/format.ts';
import { el, fill } from '../dom.ts';

export interface CardActions {
  toggle(finding: Finding): void;
  done(finding: Finding, done: boolean): void;
  goTo(finding: Finding): void;
  source(file: string, line: number | null): void;
  /** A link to the place in an editor; false: nobody has chosen one. */
  editor(at: Place): HTMLElement | false;
  /** null: it cannot be read. */
  file(file: string): Promise<SourceFile | null>;
  rule(rule: string): Promise<RuleWords | null>;
}

export interface CardLook {
  open: boolean;
  done: boolean;
  chosen: boolean;
  /** Its place in the whole list, from 1, and how many findings the list has. */
  place: number;
  count: number;
  cwd: string;
  steps: number;
}

const kHarms: Record<string, string> = {
  time: 'costs time',
  memory: 'costs memory',
  precision: 'another precision than meant',
  results: 'may change results',
  error: 'raises an error',
};
const kContext = 3;

export function savingsWords(finding: Finding, steps: number): string {
  if (!finding.savings) return '';
  const { ns_per_step, share_of_step, held_bytes } = finding.savings;
  const parts = [];
  const [per, of] = steps > 1 ? ['a step', ' of it'] : ['in all', ' of the time that autocast was in use'];
  if (ns_per_step > 0) parts.push(`would save ${duration(ns_per_step)} ${per}${share_of_step > 0 ? ` (${percent(share_of_step)}${of})` : ''}`);
  if (held_bytes > 0) parts.push(`a kept copy would hold ${bytes(held_bytes)}`);
  return parts.join('; ');
}

export function findingCard(finding: Finding, look: CardLook, actions: CardActions): HTMLElement {
  const { open, done, chosen, cwd } = look;
  const name = `finding-${look.place}`;
  const saved = savingsWords(finding, look.steps);
  const isDone = el('input', { type: 'checkbox', checked: done, 'aria-label': `Done: ${finding.title}`, title: 'done (kept in this browser, for this run)' });
  isDone.addEventListener('change', () => actions.done(finding, isDone.checked));
  return el(
    'article',
    {
      class: `finding ${finding.severity}${done ? ' done' : ''}${chosen ? ' chosen' : ''}`,
      'aria-labelledby': name,
      'aria-posinset': look.place,
      'aria-setsize': look.count,
      'aria-current': chosen ? 'true' : null,
    },
    el('div', { class: 'head' }, el('span', { class: 'severity' }, finding.severity), kHarms[finding.harm] !== undefined && el('span', {}, kHarms[finding.harm]), finding.deep_only && el('span', {}, 'in deep steps'), el('label', { class: 'done-mark' }, isDone, 'done')),
    el('h3', { id: name }, el('button', { class: 'title', 'aria-expanded': String(open), click: () => actions.toggle(finding) }, finding.title)),
    el('p', {}, placeLink(finding.location, cwd, actions), finding.location.function !== null && el('span', { class: 'soft' }, ` in ${finding.location.function}`), actions.editor(finding.location)),
    ...(open ? contents(finding, look, actions) : []),
    saved !== '' && el('p', { class: 'saved' }, saved),
  );
}

function placeLink(at: Place, cwd: string, actions: CardActions): HTMLElement {
  return el('button', { class: 'link mono', disabled: at.file === null, click: () => at.file !== null && actions.source(at.file, at.line) }, place(at, cwd));
}

function contents(finding: Finding, { cwd }: CardLook, actions: CardActions): (HTMLElement | false)[] {
  const excerpt = el('div', { class: 'excerpt', hidden: true, role: 'group', 'aria-label': 'The code there' });
  const { file, line } = finding.location;
  if (file !== null && line !== null) void actions.file(file).then((source) => source && showLines(excerpt, source, line));
  const inTime = finding.first_event_ns !== null;
  const evidence = el(
    'dl',
    { class: 'facts-list' },
    ...Object.entries(finding.evidence).flatMap(([name, value]) => [el('dt', {}, evidenceName(name)), el('dd', {}, evidenceValue(name, value))]),
  );
  const why = el('details', {}, el('summary', {}, 'why it matters'));
  why.addEventListener('toggle', () => {
    if (why.open && why.childElementCount === 1) void actions.rule(finding.rule).then((words) => why.append(...whyWords(words)));
  });
  return [
    excerpt,
    el('p', { class: 'fix' }, finding.fix),
    finding.related.length > 0 && el('p', { class: 'soft' }, 'see also ', ...finding.related.map((one) => placeLink(one, cwd, actions))),
    el('p', { class: 'row' }, el('button', { class: 'act', disabled: !inTime, title: inTime ? 'show it in the timeline; n and N go from one event of it to the next' : 'no event of it is in the timeline', click: () => actions.goTo(finding) }, 'Show in timeline')),
    el('details', {}, el('summary', {}, 'evidence'), evidence),
    why,
  ];
}

/** "cpu_ns" is "CPU time": its value has a unit. */
function evidenceName(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words === 'cpu ns' ? 'CPU time' : words.replace(/ ns$/, '');
}

function evidenceValue(name: string, value: number | string): string {
  // Words of castscope's own have underscores; texts of the job (paths, names) are shown as they are.
  if (typeof value === 'string') return /^[a-z]+(_[a-z]+)+$/.test(value) ? value.replaceAll('_', ' ') : value;
  if (name.endsWith('_ns')) return duration(value);
  return name.endsWith('bytes') ? bytes(value) : grouped(value);
}

function whyWords(words: RuleWords | null): HTMLElement[] {
  if (!words) return [el('p', { class: 'soft' }, 'The rule could not be asked for.')];
  return [words.what_happens, words.why_it_matters].filter((text) => text !== '').map((text) => el('p', {}, text));
}

function showLines(excerpt: HTMLElement, file: SourceFile, line: number): void {
  const near = file.source_lines.filter((one) => Math.abs(one.line - line) <= kContext);
  if (!near.some((one) => one.line === line)) return; // the file is not there, or it has changed
  fill(excerpt, ...near.map((one) => el('div', { class: `line${one.line === line ? ' here' : ''}` }, el('span', { class: 'line-number' }, one.line), el('code', {}, one.source_text))));
  excerpt.hidden = false;
}
