// Puts the page together: state, feed, timeline, panels, and the view in the address.

import { Address, askedFor } from './address.ts';
import { api } from './api/client.ts';
import { lookUp } from './feed/feed.ts';
import { Timeline } from './draw/timeline.ts';
import { Keys } from './interact/keys.ts';
import { Pointer } from './interact/pointer.ts';
import { StripKeys } from './interact/strip_keys.ts';
import { visibleRows } from './model/rows/lanes.ts';
import { State } from './model/state.ts';
import { loadOf, streamsOf } from './model/rows/streams.ts';
import { fitting } from './model/time/time_window.ts';
import { ChartsPanel } from './panels/charts.ts';
import { ComparePanel } from './panels/compare.ts';
import { Drawer } from './panels/drawer.ts';
import { FlameView } from './panels/flame.ts';
import { ModuleSteps } from './panels/module_steps.ts';
import { DetailPanel } from './panels/detail.ts';
import { el, toast, watchPresses } from './dom.ts';
import { openDownload } from './panels/download.ts';
import { keptEditor } from './panels/editor.ts';
import { savePicture } from './panels/export.ts';
import { FindingsPanel } from './panels/findings.ts';
import { Header } from './panels/header.ts';
import { openHelp } from './panels/help.ts';
import { Legend } from './panels/legend.ts';
import { ListPanel } from './panels/list.ts';
import { ModulesPanel } from './panels/modules.ts';
import { Notice } from './panels/notice.ts';
import { SearchBox } from './panels/search.ts';
import { QueryPanel } from './panels/query.ts';
import { openRunList } from './panels/run_list.ts';
import { SelectionPanel } from './panels/selection.ts';
import { Side } from './panels/side.ts';
import { SitesPanel } from './panels/sites.ts';
import { SourcePanel } from './panels/source.ts';
import { Tip } from './panels/tip.ts';
import { Viewer } from './viewer.ts';

const asked = askedFor(location.hash);
// The request is already under way while the page is put together.
const opening = lookUp(asked.run);
opening.catch(() => undefined); // the code that waits for it reports errors

const state = new State();
state.editor = keptEditor();
state.take(asked); // before the panels are made, since they read the requested view
const timeline = new Timeline(state);
const tip = new Tip(state);

const search = new SearchBox(state, {
  find: (text) => void viewer.searching.find(text),
  findStep: (direction) => void viewer.searching.findStep(direction),
  toggleOnlyFound: () => viewer.searching.toggleOnlyFound(),
  leave: () => timeline.lanes.focus({ preventScroll: true }),
});
const openRun = (run: string) => address.open(run);
const header = new Header(state, {
  open: openRun,
  runs: () => openRunList(state, openRun),
  download: () => openDownload(state, () => savePicture(state.run?.run_name ?? 'timeline', timeline.canvases())),
  follow: () => viewer.follow(),
  colourBy: (by) => viewer.colourBy(by),
  theme: () => viewer.nextTheme(),
  help: openHelp,
}, search.element);

const viewer: Viewer = new Viewer(state, timeline, {
  search: search.input,
  clearSearch: () => search.clear(),
  foldSide: () => side.fold(),
  pointer: () => pointer,
  findings: () => findings,
});

const legend = new Legend(state, () => {
  viewer.feed.wantAll();
  state.tell('hidden');
  if (state.find !== '') void viewer.searching.find(state.find);
});
const notice = new Notice(state, () => viewer.feed.tryNow());
const source = (file: string, line: number | null) => viewer.openSource(file, line);
const zoomTo = (begin: number, end: number) => state.show(fitting(begin, end, state.whole, 0.04), performance.now());
const compare = new ComparePanel(state, { choose: (row, within) => void viewer.going.chooseSubject(row.track, row.subject, within), source });
const side = new Side(state);
const findings = new FindingsPanel(state, side.body, { goTo: (finding) => viewer.findings.goTo(finding), source });
const pointer = new Pointer(state, timeline, {
  choose: (track, at, withinNs, shade) => void viewer.going.choose(track, at, withinNs, { shade: shade ?? undefined }),
  findings: (marked) => viewer.findings.openOneOf(marked),
  mark: (mark) => viewer.goToMark(mark),
  hover: (under, x, y) => tip.show(under, x, y),
  hint: toast,
});
const selection = new SelectionPanel(state, {
  zoom: () => state.selection && zoomTo(state.selection.begin, state.selection.end),
  compare: () => compare.keep(),
  choose: (row) => void viewer.going.chooseSubject(row.track_kind, row.subject, state.selection),
  goToMark: (mark) => viewer.goToMark(mark),
});
const detail = new DetailPanel(state, {
  source,
  step: (direction) => viewer.act(direction === 'next' ? 'siteNext' : 'sitePrevious'),
  hit: (direction) => viewer.act(direction === 'next' ? 'searchNext' : 'searchPrevious'),
  fit: () => viewer.act('fitEvent'),
  alongFlow: () => viewer.act('alongFlow'),
  finding: (finding) => viewer.findings.open(finding),
  goTo: (event) => void viewer.going.goToLinked(event),
  select: (area) => viewer.select(area),
  compare: (direction) => viewer.act(direction === 'next' ? 'stepAfter' : 'stepBefore'),
});
const sourcePanel = new SourcePanel(state, {
  choose: (sites) => void viewer.going.chooseSubject('casts', sites[0]),
  finding: (finding) => (finding ? viewer.findings.open(finding) : state.openTab('findings')),
});
side.put([
  findings,
  new SitesPanel(state, (site) => void viewer.going.chooseSubject('casts', site)),
  new ModulesPanel(state, { find: (text) => void viewer.searching.find(text), source }),
  new ChartsPanel(state, zoomTo),
  { title: 'Selection', panels: [selection, new ListPanel(state, (track, at) => void viewer.going.choose(track, at, 0))] },
  { title: 'Detail', panels: [detail, sourcePanel] },
  compare,
  new QueryPanel(state, source),
]);
const flame = new FlameView(state, { find: (text) => void viewer.searching.find(text), source });
const moduleSteps = new ModuleSteps(state, { goTo: (search, step) => void viewer.searching.goToStepOf(search, step) });
const drawer = new Drawer(state, {
  stacks: { title: 'flame by stack', element: flame.element, show: () => flame.show('stacks') },
  modules: { title: 'flame by module', element: flame.element, show: () => flame.show('modules') },
  steps: { title: 'modules by step', element: moduleSteps.element, show: () => moduleSteps.show() },
});
const address = new Address(state, (view) => viewer.restore(view));
new StripKeys(state, timeline);
new Keys(state, pointer, (action) => viewer.act(action));

const kMostStreams = 8;
let counted = 0;
let endedMs = -Infinity;
/** Counts for the legend, in the window; not while it moves, but at once when the run ends, since castscope may end
 * with it. */
function countSoon(): void {
  clearTimeout(counted);
  const ms = performance.now() - endedMs < 1000 ? 0 : 700;
  counted = window.setTimeout(async () => {
    if (!state.run || document.hidden) return;
    const { begin, end } = state.window;
    void countStreams(state.run.run_name, begin, end);
    legend.count(await api.kinds(state.run.run_name, Math.max(begin, 0), Math.max(end, 1), undefined, state.onlyFind).catch(() => null));
    if (state.following) countSoon();
  }, ms);
}

/** Counts what each stream in sight did; if there are more streams than anybody reads, only the first ones. */
async function countStreams(run: string, begin: number, end: number): Promise<void> {
  const shown = new Set(visibleRows(state.layout.rows, state.scrollTop, timeline.lanesSurface.height).map((row) => row.key));
  const streams = [...streamsOf(state.run?.tracks ?? [])].filter(([key]) => shown.has(key) || state.pinned.includes(key));
  const asked = streams.slice(0, kMostStreams).map(async ([key, tracks]) => {
    const told = await api.kinds(run, Math.max(begin, 0), Math.max(end, 1), tracks);
    return [key, loadOf(told)] as const;
  });
  const told = await Promise.all(asked).catch(() => null);
  // If nothing ran before either, nothing is drawn again.
  if (!told || (told.length === 0 && state.loads.size === 0)) return;
  state.loads = new Map(told);
  state.tell('loads');
}

state.on(['window', 'find'], countSoon);
let wasLive = false;
state.on('run', () => {
  if (wasLive && !state.live) {
    endedMs = performance.now();
    countSoon();
  }
  wasLive = state.live;
});
state.on('window', () => tip.show(null, 0, 0));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => viewer.applyTheme());
document.body.append(
  el(
    'div',
    { class: 'page' },
    header.element,
    notice.element,
    el('main', { class: 'main' }, legend.element, timeline.element, drawer.element),
    side.element,
  ),
);
timeline.element.append(notice.empty);
watchPresses();

timeline.filter.value = state.filter;
viewer.applyTheme();
state.tell('tab');
await viewer.feed.open(asked.run, opening);
timeline.filter.value = state.filter;
countSoon();
if (state.find !== '') void viewer.searching.find(state.find);
if (state.missing === null) await viewer.going.chooseOf(asked);
address.arrived();
