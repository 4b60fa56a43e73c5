// The view as text in the address's fragment, so that a link shows a colleague the same place. It is never sent
// anywhere: the part after # stays in the browser.

import type { ColourBy } from './looks/colours.ts';
import { kColourBy } from './looks/colours.ts';
import { kPlainWorkList, workListOf, workListText } from './findings/work_list.ts';
import type { WorkListLook } from './findings/work_list.ts';
import { flameLookOf, flameText, kPlainFlame } from './sums/flame_look.ts';
import type { FlameLook } from './sums/flame_look.ts';
import { markOf, markText } from './time/marks.ts';
import type { Mark } from './time/marks.ts';

export type ThemeChoice = 'system' | 'light' | 'dark';
export const kTabs = ['findings', 'sites', 'source', 'modules', 'charts', 'selection', 'detail', 'list', 'compare', 'sql'] as const;
export type Tab = (typeof kTabs)[number];

/** What lies below the timeline. */
export const kBelow = ['nothing', 'stacks', 'modules', 'steps'] as const;
export type Below = (typeof kBelow)[number];

/** Times in ns; null = all tracks. */
export interface Area {
  begin: number;
  end: number;
  tracks: number[] | null;
}

export interface ViewState {
  run: string | null;
  /** null while following a live run, or when all is shown. */
  range: { begin: number; end: number } | null;
  following: boolean;
  colourBy: ColourBy;
  hidden: string[];
  collapsed: string[];
  pinned: string[];
  order: readonly string[];
  filter: string;
  find: string;
  /** What the search does not find is hidden. */
  onlyFound: boolean;
  selection: Area | null;
  /** A run's id. */
  compareWith: string | null;
  firstStretch: Area | null;
  /** The lookText of each table. */
  tables: [string, string][];
  event: { track: number; at: number } | null;
  /** The fingerprint of the chosen finding. */
  finding: string | null;
  workList: WorkListLook;
  tab: Tab | null;
  /** null: it was not chosen. */
  below: Below | null;
  flame: FlameLook;
  source: { file: string; line: number | null } | null;
  marks: Mark[];
  measure: { from: number; to: number } | null;
  /** What stands in the box for SQL. Nothing runs it but a press of Run. */
  sql: string;
  theme: ThemeChoice;
}

export const kPlain: ViewState = {
  run: null,
  range: null,
  following: false,
  colourBy: 'kind',
  hidden: [],
  collapsed: [],
  pinned: [],
  order: [],
  filter: '',
  find: '',
  onlyFound: false,
  selection: null,
  compareWith: null,
  firstStretch: null,
  tables: [],
  event: null,
  finding: null,
  workList: kPlainWorkList,
  tab: null,
  below: null,
  flame: kPlainFlame,
  source: null,
  marks: [],
  measure: null,
  sql: '',
  theme: 'system',
};

const numbers = (values: number[]) => values.map((value) => Math.round(value)).join('~');

const areaText = (area: Area) => numbers([area.begin, area.end, ...(area.tracks ?? [])]);

function areaOf(text: string | null): Area | null {
  const area = numbersOf(text, 2);
  if (!area || area[1] <= area[0]) return null;
  return { begin: area[0], end: area[1], tracks: area.length > 2 ? area.slice(2) : null };
}

export function toFragment(view: ViewState): string {
  const parts = new URLSearchParams();
  const put = (name: string, value: string | null) => {
    if (value !== null && value !== '') parts.set(name, value);
  };
  put('run', view.run);
  if (view.range) put('t', numbers([view.range.begin, view.range.end]));
  if (view.following) put('follow', '1');
  put('by', view.colourBy);
  put('hide', view.hidden.join('~'));
  put('fold', view.collapsed.join('~'));
  put('pin', view.pinned.join('~'));
  put('order', view.order.join('~'));
  put('lanes', view.filter);
  put('find', view.find);
  if (view.onlyFound) put('only', '1');
  if (view.selection) put('area', areaText(view.selection));
  put('with', view.compareWith);
  if (view.firstStretch) put('first', areaText(view.firstStretch));
  for (const [name, look] of view.tables) parts.append('table', `${name}|${look}`);
  if (view.event) put('event', numbers([view.event.track, view.event.at]));
  put('finding', view.finding);
  put('list', workListText(view.workList));
  put('tab', view.tab);
  put('below', view.below);
  put('flame', flameText(view.flame));
  put('zoom', view.flame.zoomed.join('~'));
  if (view.source) put('source', `${view.source.file}${view.source.line === null ? '' : `:${view.source.line}`}`);
  for (const mark of view.marks) parts.append('mark', markText(mark));
  if (view.measure) put('measure', numbers([view.measure.from, view.measure.to]));
  put('sql', view.sql);
  return parts.toString();
}

function numbersOf(text: string | null, least: number): number[] | null {
  if (text === null) return null;
  const values = text.split('~').map(Number);
  return values.length >= least && values.every(Number.isSafeInteger) ? values : null;
}

const words = (text: string | null) => (text === null || text === '' ? [] : text.split('~'));

function oneOf<T extends string>(text: string | null, list: readonly T[], otherwise: T): T {
  return list.find((one) => one === text) ?? otherwise;
}

/** What makes two views two visits: the panel, and what is chosen. */
export function visitOf({ tab, finding, event, source }: ViewState): string {
  return JSON.stringify([tab, finding, event, source]);
}

/** Parts that cannot be understood are left out: an old link still opens the run. Where it does not say how the page
 * looks, it looks as in `look`. The theme is only read: whoever opens a link keeps their own. */
export function fromFragment(fragment: string, look: Pick<ViewState, 'colourBy' | 'theme'> = kPlain): ViewState {
  const parts = new URLSearchParams(fragment.replace(/^#/, ''));
  const range = numbersOf(parts.get('t'), 2);
  const event = numbersOf(parts.get('event'), 2);
  const measure = numbersOf(parts.get('measure'), 2);
  const tab = parts.get('tab');
  const source = parts.get('source')?.match(/^(.*?)(?::(\d+))?$/) ?? null;
  return {
    run: parts.get('run'),
    range: range && range[1] > range[0] ? { begin: range[0], end: range[1] } : null,
    following: parts.get('follow') === '1',
    colourBy: oneOf(parts.get('by'), kColourBy, look.colourBy),
    hidden: words(parts.get('hide')),
    collapsed: words(parts.get('fold')),
    pinned: words(parts.get('pin')),
    order: words(parts.get('order')),
    filter: parts.get('lanes') ?? '',
    find: parts.get('find') ?? '',
    onlyFound: parts.get('only') === '1',
    selection: areaOf(parts.get('area')),
    compareWith: parts.get('with'),
    firstStretch: areaOf(parts.get('first')),
    tables: parts.getAll('table').flatMap((text) => (text.includes('|') ? [[text.slice(0, text.indexOf('|')), text.slice(text.indexOf('|') + 1)] as [string, string]] : [])),
    event: event ? { track: event[0], at: event[1] } : null,
    finding: parts.get('finding'),
    workList: workListOf(parts.get('list') ?? ''),
    tab: kTabs.find((one) => one === tab) ?? null,
    below: kBelow.find((one) => one === parts.get('below')) ?? null,
    flame: flameLookOf(parts.get('flame') ?? '', words(parts.get('zoom'))),
    source: source ? { file: source[1], line: source[2] === undefined ? null : Number(source[2]) } : null,
    marks: parts.getAll('mark').flatMap((text) => markOf(text) ?? []),
    measure: measure && { from: measure[0], to: measure[1] },
    sql: parts.get('sql') ?? '',
    theme: oneOf(parts.get('theme'), ['system', 'light', 'dark'] as const, look.theme),
  };
}
