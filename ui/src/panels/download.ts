// All that can be taken away from a run, in one place: its reports, its timeline for other programs, a picture.

import { api } from '../api/client.ts';
import type { State } from '../model/state.ts';
import { el, nothing } from '../dom.ts';
import { openDialog } from './dialog.ts';

interface Form {
  format: string;
  name: string;
  goodFor: string;
}

const kForms: { title: string; forms: Form[] }[] = [
  {
    title: 'To read',
    forms: [
      { format: 'html', name: 'HTML', goodFor: 'a page with each finding, its code and the fix: to keep or to mail' },
      { format: 'md', name: 'Markdown', goodFor: 'for an issue or a pull request' },
    ],
  },
  {
    title: 'For programs and tables',
    forms: [
      { format: 'json', name: 'JSON', goodFor: 'the whole report, for scripts and castscope check' },
      { format: 'csv', name: 'CSV', goodFor: 'a row for each site, for a spreadsheet' },
      { format: 'csv-layers', name: 'CSV of layers', goodFor: 'a row for each module and operator of deep steps' },
      { format: 'sarif', name: 'SARIF', goodFor: 'findings for code scanning, at their lines' },
      { format: 'jsonl', name: 'JSON Lines', goodFor: 'the single events that were kept, one a line' },
    ],
  },
  {
    title: 'For other viewers',
    forms: [
      { format: 'perfetto', name: 'Perfetto', goodFor: 'the timeline for ui.perfetto.dev' },
      { format: 'speedscope', name: 'speedscope', goodFor: 'stacks by time for speedscope.app' },
      { format: 'chrome', name: 'Chrome trace', goodFor: 'the timeline for chrome://tracing' },
      { format: 'dot', name: 'Graphviz', goodFor: 'the graph of a step' },
    ],
  },
];

export function openDownload(state: State, savePicture: () => void): void {
  const { run } = state;
  if (!run) return void openDialog('Download', nothing('There is no run yet.'));
  const line = (what: HTMLElement, goodFor: string) => [el('dt', {}, what), el('dd', {}, goodFor)];
  const dialog = openDialog(
    'Download',
    ...kForms.map(({ title, forms }) =>
      el('section', {}, el('h3', {}, title), el('dl', {}, ...forms.flatMap(({ format, name, goodFor }) => line(el('a', { href: api.reportAddress(run.run_name, format), download: true }, name), goodFor)))),
    ),
    el('section', {}, el('h3', {}, 'A picture'), el('dl', {}, ...line(el('button', { class: 'link', click: () => (savePicture(), dialog.close()) }, 'PNG'), 'the timeline as it is on the screen'))),
    el('p', { class: 'soft' }, 'Tables have buttons of their own for CSV. The run itself is the file ', el('code', {}, run.run_file ?? run.run_name), '.'),
  );
}
