// The line at the top: the run's name, its state, and the tools.

import type { Run, RunEntry } from '../api/types.ts';
import { kColourBy } from '../model/looks/colours.ts';
import type { ColourBy } from '../model/looks/colours.ts';
import { duration, grouped, percent } from '../model/words/format.ts';
import { failureOf, kStates, shortCommand, startOf } from '../model/words/run_words.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

export interface HeaderActions {
  open(run: string): void;
  runs(): void;
  download(): void;
  follow(): void;
  colourBy(by: ColourBy): void;
  theme(): void;
  help(): void;
}

/** How a run ended that did not end well; null: it did. */
function badEndOf(run: Run): { words: string; looks: 'failed' | 'incomplete' } | null {
  const failure = failureOf(run);
  if (failure !== null) return { words: `${failure}${run.complete ? '' : ', incomplete'}`, looks: 'failed' };
  return run.complete ? null : { words: 'incomplete', looks: 'incomplete' };
}

// How far the timeline may lag before the badge calls it quiet instead.
const kQuietNs = 2e9;

export class Header {
  readonly element: HTMLElement;
  private readonly runs = el('select', { class: 'run-choice', 'aria-label': 'Run' });
  private readonly stateText = el('span', { class: 'state', role: 'status' });
  private readonly facts = el('div', { class: 'facts' });
  private readonly follow: HTMLButtonElement;
  private readonly colours = el('select', { 'aria-label': 'Colour by', title: 'colour by (c)' });
  private readonly theme: HTMLButtonElement;
  private readonly state: State;
  private shownRuns = '';

  constructor(state: State, actions: HeaderActions, search: HTMLElement) {
    this.state = state;
    this.follow = el('button', { class: 'follow', 'aria-pressed': 'false', title: 'follow live (f)', click: () => actions.follow() });
    this.theme = el('button', { class: 'icon-button', click: () => actions.theme() });
    for (const by of kColourBy) this.colours.append(el('option', { value: by }, `colour: ${by}`));
    this.colours.addEventListener('change', () => actions.colourBy(this.colours.value as ColourBy));
    this.runs.addEventListener('change', () => actions.open(this.runs.value));
    this.element = el(
      'header',
      { class: 'header' },
      el('h1', { class: 'brand' }, el('i', { 'aria-hidden': 'true' }), el('span', {}, 'castscope')),
      this.runs,
      el('button', { class: 'icon-button', 'aria-label': 'All runs', title: 'all runs, and what changed', click: () => actions.runs() }, '☰'),
      this.stateText,
      this.facts,
      el(
        'div',
        { class: 'tools' },
        search,
        this.follow,
        this.colours,
        this.theme,
        el('button', { class: 'icon-button download', 'aria-label': 'Download', title: 'reports, traces and pictures to take away', click: () => actions.download() }, '⤓'),
        el('button', { class: 'icon-button', 'aria-label': 'Keys', title: 'keys (?)', click: () => actions.help() }, '?'),
      ),
    );
    state.on(['run', 'picture', 'window', 'connection'], () => this.badge());
    state.on('run', () => this.show());
    state.on('look', () => this.look());
  }

  private show(): void {
    const { run } = this.state;
    this.showRuns();
    if (!run) return;
    this.stateText.className = `state ${this.state.forgotten ? 'gone' : run.run_state === 'finished' ? (badEndOf(run)?.looks ?? 'finished') : run.run_state}`;
    this.stateText.title = run.run_state === 'finished' ? run.notices.join(' ') : '';
    const { totals } = run;
    const fact = (count: number, what: string, says = '') => el('span', { title: says }, el('b', {}, grouped(count)), ` ${what}`);
    const { whole } = this.state;
    const length = Math.max(run.end_ns ?? 0, whole.end);
    const span = whole.end - whole.begin;
    fill(
      this.facts,
      fact(totals.casts, `${totals.casts === 1 ? 'cast' : 'casts'} by autocast`, 'of the whole run; the legend counts what is in view'),
      totals.other_casts > 0 && fact(totals.other_casts, totals.other_casts === 1 ? 'other cast' : 'other casts', 'of the whole run: by to(), type promotion, the backward pass, …'),
      totals.compiled_casts > 0 && fact(totals.compiled_casts, 'in compiled graphs', 'casts by code of torch.compile, which are not timed'),
      fact(totals.cache_hits, 'from the cache'),
      // A run in which nothing happened has taken no step.
      totals.event_count > 0 && fact(totals.step_count, totals.step_count === 1 ? 'step' : 'steps'),
      totals.evaluation_count > 0 && fact(totals.evaluation_count, totals.evaluation_count === 1 ? 'evaluation' : 'evaluations'),
      el('span', {}, el('b', {}, duration(length)), ` long${totals.event_count > 0 && span < 0.9 * length ? `, events over ${duration(span)}` : ''}`),
    );
  }

  /** Other runs can be chosen if the wanted one cannot be read. */
  private showRuns(): void {
    const { run, runs } = this.state;
    const known = run && !runs.some((entry) => entry.run_name === run.run_name) ? [run, ...runs] : runs;
    const key = `${run?.run_name ?? ''} ${known.map((entry) => entry.run_name).join(' ')}`;
    if (key === this.shownRuns) return;
    this.shownRuns = key;
    fill(
      this.runs,
      !run && el('option', { value: '', selected: true, disabled: true }, 'choose a run'),
      ...known.map((entry) => el('option', { value: entry.run_name, selected: entry.run_name === run?.run_name }, runWords(entry))),
    );
    if (!run) return;
    this.runs.title = run.command.join(' ');
    document.title = `${run.run_name} · castscope`;
  }

  private badge(): void {
    const { state } = this;
    const { run, picture } = state;
    if (!run) return;
    let text = state.connection.lost && run.run_state !== 'finished' ? 'no answer' : state.forgotten ? 'not known any more' : run.run_state === 'loading' ? `loading ${percent(run.loaded)}` : run.run_state === 'finished' ? (badEndOf(run)?.words ?? kStates.finished) : kStates[run.run_state];
    if (run.run_state === 'live' && picture && !state.forgotten && !state.connection.lost) {
      text = picture.behindNs > kQuietNs ? `live · no events for ${duration(picture.behindNs)}` : `live · ${Math.round(picture.behindNs / 1e6)} ms behind`;
    }
    if (this.stateText.textContent !== text) this.stateText.textContent = text;
    this.follow.hidden = run.run_state !== 'live' || state.connection.lost;
    const fresh = Math.max(0, state.events - state.eventsSeen);
    const label = state.following ? 'following' : fresh > 0 ? `follow · ${grouped(fresh)} new` : 'follow';
    if (this.follow.textContent !== label) {
      this.follow.textContent = label;
      this.follow.setAttribute('aria-pressed', String(state.following));
      this.follow.classList.toggle('new', !state.following && fresh > 0);
    }
  }

  private look(): void {
    const names = { system: ['◐', 'as the system'], light: ['☀', 'light'], dark: ['☾', 'dark'] } as const;
    const [sign, name] = names[this.state.themeChoice];
    this.theme.textContent = sign;
    this.theme.title = `theme: ${name} (t)`;
    this.theme.setAttribute('aria-label', `Theme: ${name}`);
    this.colours.value = this.state.colourBy;
  }
}

/** Runs of one name are many: what was run, and when, tells them apart. */
function runWords(run: Pick<RunEntry, 'run_name' | 'start' | 'command'>): string {
  return [run.run_name, startOf(run.start), shortCommand(run.command)].filter((part) => part !== '').join(' · ');
}
