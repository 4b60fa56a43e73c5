// Shows one event: what it is, its reasons, and its place in the source.

import type { BriefEvent, EventDetail, Finding, LinkKind, LinkedEvent, Place, TrackKind } from '../api/types.ts';
import { causeName, kindName } from '../model/looks/colours.ts';
import { bytes, duration, moment, place } from '../model/words/format.ts';
import { isLibrary, packageOf } from '../model/words/paths.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';
import { DurationsView } from './durations.ts';
import { editorLink } from './editor.ts';
import type { Panel } from './side.ts';
import { StepSummary } from './step_summary.ts';
import type { StepActions } from './step_summary.ts';

export interface DetailActions extends StepActions {
  source(file: string, line: number | null): void;
  /** Goes to the hit of the search after this event, or before it. */
  hit(direction: 'next' | 'previous'): void;
  step(direction: 'next' | 'previous'): void;
  fit(): void;
  /** Goes from a kernel to its cast or operator, or from those to their first kernel; else along the first link. */
  alongFlow(): void;
  finding(finding: Finding): void;
  goTo(event: BriefEvent): void;
}

const kLinkWords: Record<LinkKind, string> = {
  filled_by: 'the cache was filled by',
  serves: 'the kept copy was first given to',
  consumed_by: 'taken by',
  made_by: 'what came in was made by',
  goes_to: 'its result goes to',
};

export class DetailPanel implements Panel {
  readonly tab = 'detail';
  readonly title = 'Detail';
  readonly element = el('div', { 'aria-live': 'polite' });
  private readonly state: State;
  private readonly actions: DetailActions;
  private readonly step: StepSummary;
  private readonly durations: DurationsView;
  private measured = '';

  constructor(state: State, actions: DetailActions) {
    this.state = state;
    this.actions = actions;
    this.durations = new DurationsView(state);
    this.step = new StepSummary(state, actions);
    state.on(['event', 'definitions', 'findings', 'editor', 'selection'], () => this.show());
  }

  show(): void {
    if (this.state.tab !== 'detail') return;
    const { event } = this.state;
    if (!event) return fill(this.element, nothing('Click an event in the timeline: what was cast, why, and where in the source.'));
    this.draw(event);
  }

  private draw(event: EventDetail): void {
    const { state, actions } = this;
    const track = state.run?.tracks.find((one) => one.track === event.track);
    const kind = track?.track_kind ?? 'casts';
    fill(
      this.element,
      el('p', { class: 'soft' }, kindName(event.shade_kind)),
      el('h2', {}, state.definitions.nameOf(kind, event.subject, track?.row_depth) || kindName(event.shade_kind)),
      el(
        'p',
        { class: 'row' },
        el('button', { class: 'act', title: 'previous of the same site ([)', click: () => actions.step('previous') }, '‹ previous'),
        el('button', { class: 'act', title: 'next of the same site (])', click: () => actions.step('next') }, 'next ›'),
        ...(state.find !== '' && state.findProblem === null ? [el('button', { class: 'act', title: 'previous hit of the search (N)', click: () => actions.hit('previous') }, '‹ hit'), el('button', { class: 'act', title: 'next hit of the search (n)', click: () => actions.hit('next') }, 'hit ›')] : []),
        el('button', { class: 'act', title: 'fit to the screen (Enter)', click: actions.fit }, 'Fit'),
        this.across(event, kind),
      ),
      kind === 'steps' && this.step.of(event),
      ...this.findings(event, kind),
      this.facts(event, kind),
      ...this.links(event.linked_events ?? []),
      kind === 'regions' && el('p', { class: 'soft' }, 'A region that holds others is shown in stretches: theirs are their own.'),
      ...this.stack(event),
      this.durationsOf(event, kind),
      kind === 'kernels' && this.wholeName(event.subject),
    );
  }

  /** Where a value or a copy comes from and goes to. */
  private links(links: LinkedEvent[]): (HTMLElement | false)[] {
    if (links.length === 0) return [];
    const { definitions, run } = this.state;
    const line = ({ link_kind, event }: LinkedEvent) => {
      const kind = run?.tracks.find((one) => one.track === event.track)?.track_kind ?? 'casts';
      const at = definitions.placeOf(kind, event.subject);
      return el(
        'li',
        {},
        el('span', { class: 'soft' }, `${kLinkWords[link_kind]} `),
        el('button', { class: 'link', click: () => this.actions.goTo(event) }, definitions.nameOf(kind, event.subject)),
        at?.file !== null && at !== null && el('span', { class: 'soft' }, ` ${place(at, run?.cwd ?? '')}`),
      );
    };
    return [el('h3', {}, 'Flow'), el('ul', { class: 'flows' }, ...links.map(line))];
  }

  /** The findings at the line of the event, with links to them. */
  private findings(event: EventDetail, kind: TrackKind): HTMLElement[] {
    return this.state
      .links()
      .ofSubject(kind, event.subject)
      .map((finding) =>
        el('p', { class: `part-of ${finding.severity}` }, 'part of finding ', el('button', { class: 'link', click: () => this.actions.finding(finding) }, finding.title), el('span', { class: 'soft' }, ` ${finding.rule}`)),
      );
  }

  /** How long all events of its site, operator or kernel took: in the selection, or else in the whole run. */
  private durationsOf(event: EventDetail, kind: TrackKind): HTMLElement | false {
    if (event.subject === 0 || !['casts', 'operators', 'kernels'].includes(kind)) return false;
    const { selection, whole, run } = this.state;
    const key = `${run?.run_name} ${kind} ${event.subject} ${JSON.stringify(selection)}`;
    if (key !== this.measured) void this.durations.ask(selection ?? { begin: whole.begin, end: whole.end + 1, tracks: null }, { track_kind: kind, subject: event.subject });
    this.measured = key;
    const what = kind === 'casts' ? 'site' : kind === 'operators' ? 'operator' : 'kernel';
    return el('section', {}, el('h3', {}, `How long all of this ${what} took, in ${selection ? 'the selection' : 'the whole run'}`), this.durations.element);
  }

  /** The link to the other end of a launch, where there is one. */
  private across(event: EventDetail, kind: string): HTMLElement | false {
    const { definitions } = this.state;
    const by = event.launch?.launched_by;
    const way = by ? `to its ${by.shade_kind === 'operator' ? 'operator' : 'cast'}` : definitions.kernelsOf(kind, event.subject).length > 0 ? 'to its GPU kernel' : '';
    return way !== '' && el('button', { class: 'act', title: 'the other end of the launch (g)', click: this.actions.alongFlow }, way);
  }

  private facts(event: EventDetail, kind: string): HTMLElement {
    const { definitions, run } = this.state;
    const site = kind === 'casts' ? definitions.sites.get(event.subject) : undefined;
    const use = kind === 'operators' ? definitions.uses.get(event.subject) : undefined;
    const kernel = kind === 'kernels' ? definitions.kernels.get(event.subject) : undefined;
    const region = kind === 'regions' ? definitions.regions.get(event.subject) : undefined;
    const instant = event.begin_ns === event.end_ns && !event.open;
    const lines: [string, string | null | undefined][] = [
      ['at', `${moment(event.begin_ns - this.state.whole.begin)} s after the first event`],
      ['in the run', `${moment(event.begin_ns)} s after its start`],
      [instant ? '' : event.open ? 'so far' : kind === 'regions' ? 'this stretch' : kernel ? 'on the device' : 'took', instant ? null : duration(event.end_ns - event.begin_ns)],
      ['step', event.step === null ? null : definitions.steps.nameOf(event.step)],
      ['dtypes', site && site.from_dtype !== null ? `${site.from_dtype} → ${site.to_dtype}` : null],
      ['waited', event.launch?.launched_ns != null ? `${duration(event.begin_ns - event.launch.launched_ns)} from its launch to its begin` : null],
      ['launched for', kernel?.launched_by_text],
      ['operator', site?.operator ?? use?.operator ?? kernel?.operator],
      ['compiled graph', kernel?.origin],
      ['replayed', kernel?.replayed === true ? 'by a CUDA graph' : null],
      ['stream', event.launch ? `${event.launch.stream} of GPU ${event.launch.gpu_index}` : null],
      ['launch', event.launch && event.launch.grid_blocks > 0 ? `${event.launch.grid_blocks} blocks × ${event.launch.threads_per_block} threads` : null],
      ['argument', site?.argument],
      ['role', site?.role],
      ['inputs', use?.argument_dtypes],
      ['computed in', use?.computed_in],
      ['result', use?.result_dtype],
      ['cause', site ? causeName(site.cause) : null],
      ['cache', event.cache_use?.replaceAll('_', ' ')],
      ['why not kept', (event.why_not_cached ?? site?.why_not_cached)?.replaceAll('_', ' ')],
      ['shape', event.shape ? (event.shape.length === 0 ? 'scalar' : event.shape.join(' × ')) : null],
      ['bytes', event.event_bytes === null || (event.event_bytes === 0 && kind !== 'casts' && kind !== 'operators') ? null : bytes(event.event_bytes)],
      ['module', site?.module ?? use?.module ?? kernel?.module],
      ['model', site?.model ?? use?.model ?? kernel?.model],
      ['phase', site?.phase ?? use?.phase],
      ['dtype', region?.enabled === false ? null : region?.region_dtype],
      ['process', run?.processes.find((one) => one.process === event.process)?.label],
    ];
    return el(
      'dl',
      { class: 'facts-list' },
      ...this.regionOf(event),
      ...lines.flatMap(([name, value]) => (value === null || value === undefined || value === '' ? [] : [el('dt', {}, name), el('dd', {}, value)])),
    );
  }

  /** The region that it lies in, with the line that opened it: often the reason for a precision. */
  private regionOf(event: EventDetail): HTMLElement[] {
    if (!event.region) return [];
    const region = this.state.definitions.regions.get(event.region.region);
    const at = region && region.file !== null && el('button', { class: 'link mono', click: () => this.actions.source(region.file!, region.line) }, place(region, this.state.run?.cwd ?? ''));
    return [el('dt', {}, 'in region'), el('dd', {}, `${event.region.region_label} `, at)];
  }

  /** Template arguments may be longer than everything else. */
  private wholeName(subject: number): HTMLElement | false {
    const kernel = this.state.definitions.kernels.get(subject);
    if (!kernel?.kernel_name || kernel.kernel_name === kernel.label) return false;
    return el('details', {}, el('summary', {}, 'whole name'), el('p', { class: 'mono whole-name' }, kernel.kernel_name));
  }

  /** The stack. Frames of installed packages are folded, as far as they are beside each other: people look for their
   * own code. */
  private frames(frames: Place[], line: (frame: Place) => HTMLElement): HTMLElement[] {
    const parts: HTMLElement[] = [];
    for (let from = 0, to = 0; from < frames.length; from = to) {
      const library = isLibrary(frames[from].file);
      while (to < frames.length && isLibrary(frames[to].file) === library) to += 1;
      const list = el('ol', { class: `stack${library ? ' library' : ''}`, start: from + 1 }, ...frames.slice(from, to).map(line));
      parts.push(library && to - from > 1 ? el('details', { class: 'frames' }, el('summary', {}, `${to - from} frames of ${packageOf(frames[from].file)}`), list) : list);
    }
    return parts;
  }

  private stack(event: EventDetail): (HTMLElement | false)[] {
    const { definitions, run } = this.state;
    const cast = run?.tracks.find((one) => one.track === event.track)?.track_kind === 'casts';
    const of = cast ? definitions.sites.get(event.subject) : undefined;
    const frames: Place[] = event.frames && event.frames.length > 0 ? event.frames : of?.file ? [of] : [];
    const forward = of?.forward_site ? definitions.sites.get(of.forward_site) : undefined;
    const line = (frame: Place) =>
      el(
        'li',
        {},
        el('button', { class: 'link mono', disabled: frame.file === null, click: () => frame.file !== null && this.actions.source(frame.file, frame.line) }, place(frame, run?.cwd ?? '')),
        frame.function !== null && el('span', { class: 'soft' }, ` ${frame.function}`),
        editorLink(this.state, frame),
      );
    return [
      forward?.file !== undefined && el('h3', {}, 'Converts the gradient of'),
      forward?.file !== undefined && el('ol', { class: 'stack' }, line(forward), el('li', { class: 'soft' }, forward.label)),
      frames.length > 0 && el('h3', {}, 'Called from, innermost first'),
      ...this.frames(frames, line),
      event.stack_truncated === true && el('p', { class: 'soft' }, 'There were more frames outwards.'),
      cast && !event.in_file && el('p', { class: 'soft' }, 'The run file no longer holds this event by itself: shape and cache state are not known.'),
    ];
  }
}
