// The findings of castscope, the most severe first. A click goes to the place in time, the link to the place in the
// source.

import type { Finding } from '../api/types.ts';
import { bytes, duration, grouped, percent, place } from '../model/format.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';
import type { Panel } from './side.ts';

export interface FindingActions {
  goTo(finding: Finding): void;
  source(file: string, line: number | null): void;
}

function savings(finding: Finding, steps: number): string {
  if (!finding.savings) return '';
  const { ns_per_step, share_of_step, held_bytes } = finding.savings;
  const parts = [];
  const [per, of] = steps > 1 ? ['a step', ''] : ['in all', ' of the time that autocast was in use'];
  if (ns_per_step > 0) parts.push(`would save ${duration(ns_per_step)} ${per}${share_of_step > 0 ? ` (${percent(share_of_step)}${of})` : ''}`);
  if (held_bytes > 0) parts.push(`a kept copy would hold ${bytes(held_bytes)}`);
  return parts.join('; ');
}

export class FindingsPanel implements Panel {
  readonly tab = 'findings';
  readonly title = 'Findings';
  readonly element = el('div', { class: 'findings' });
  private readonly state: State;
  private readonly actions: FindingActions;
  private readonly opened = new Set<string>();
  private shown: Finding[] | null = null;
  private shownLive = false;

  constructor(state: State, actions: FindingActions) {
    this.state = state;
    this.actions = actions;
    state.on(['findings', 'run'], () => this.show());
  }

  count(): number {
    return this.state.findings.length;
  }

  show(): void {
    const { findings, live } = this.state;
    if (!this.state.run || (findings === this.shown && live === this.shownLive)) return;
    this.shown = findings;
    this.shownLive = live;
    if (findings.length === 0) {
      fill(this.element, nothing(this.state.live ? 'Nothing found so far. Findings appear here as the run goes on.' : 'castscope found nothing to complain of in this run.'));
      return;
    }
    fill(this.element, ...findings.map((finding) => this.card(finding)));
  }

  private card(finding: Finding): HTMLElement {
    const { state, actions } = this;
    const cwd = state.run?.cwd ?? '';
    const at = finding.location;
    const link = el('button', { class: 'link mono', disabled: at.file === null, click: () => at.file !== null && actions.source(at.file, at.line) }, place(at, cwd));
    const evidence = el(
      'dl',
      { class: 'facts-list' },
      ...Object.entries(finding.evidence).flatMap(([name, value]) => [
        el('dt', {}, name.replaceAll('_', ' ')),
        el('dd', {}, typeof value === 'number' ? grouped(value) : value),
      ]),
    );
    const related = finding.related.map((one) =>
      el('button', { class: 'link mono', click: () => one.file !== null && actions.source(one.file, one.line) }, place(one, cwd)),
    );
    const more = el('details', { open: this.opened.has(finding.fingerprint) }, el('summary', {}, 'evidence'), evidence, related.length > 0 && el('p', { class: 'soft' }, 'see also ', ...related));
    more.addEventListener('toggle', () => {
      if (more.open) this.opened.add(finding.fingerprint);
      else this.opened.delete(finding.fingerprint);
    });
    const saved = savings(finding, state.run?.totals.step_count ?? 0);
    return el(
      'article',
      { class: `finding ${finding.severity}` },
      el('div', { class: 'head' }, el('span', { class: 'severity' }, finding.severity), el('code', {}, finding.rule), finding.deep_only && el('span', { class: 'soft' }, 'in deep steps')),
      el('h2', {}, finding.title),
      el('p', {}, link, at.function !== null && el('span', { class: 'soft' }, ` in ${at.function}`)),
      el('p', { class: 'fix' }, finding.fix),
      saved !== '' && el('p', { class: 'saved' }, saved),
      el('p', { class: 'row' }, el('button', { class: 'act', disabled: finding.first_event_ns === null, title: finding.first_event_ns === null ? 'no event of it is in the timeline' : 'show it in the timeline', click: () => actions.goTo(finding) }, 'Show in timeline')),
      more,
    );
  }
}
