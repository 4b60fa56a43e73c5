// Which key does what. There is one list: the keys are looked up in it, and the help page shows it.

export type Action =
  | 'zoomIn' | 'zoomOut' | 'panLeft' | 'panRight'
  | 'scrollUp' | 'scrollDown' | 'pageUp' | 'pageDown'
  | 'all' | 'back' | 'follow' | 'measure' | 'colours' | 'theme'
  | 'search' | 'searchNext' | 'searchPrevious' | 'siteNext' | 'sitePrevious'
  | 'eventNext' | 'eventPrevious' | 'fitEvent' | 'acrossLaunch' | 'selectWindow' | 'list' | 'filterLanes' | 'side' | 'copyLink'
  | 'help' | 'escape';

export interface KeyLine {
  keys: string[];
  action: Action;
  says: string;
  group: 'Move' | 'Find' | 'Look';
}

export const kKeys: readonly KeyLine[] = [
  { keys: ['w', '+'], action: 'zoomIn', says: 'come nearer, at the pointer (hold it)', group: 'Move' },
  { keys: ['s', '-'], action: 'zoomOut', says: 'go farther', group: 'Move' },
  { keys: ['a', 'ArrowLeft'], action: 'panLeft', says: 'earlier', group: 'Move' },
  { keys: ['d', 'ArrowRight'], action: 'panRight', says: 'later', group: 'Move' },
  { keys: ['ArrowUp'], action: 'scrollUp', says: 'lanes above', group: 'Move' },
  { keys: ['ArrowDown'], action: 'scrollDown', says: 'lanes below', group: 'Move' },
  { keys: ['PageUp'], action: 'pageUp', says: 'a page of lanes up', group: 'Move' },
  { keys: ['PageDown'], action: 'pageDown', says: 'a page of lanes down', group: 'Move' },
  { keys: ['0'], action: 'all', says: 'show the whole run', group: 'Move' },
  { keys: ['Backspace'], action: 'back', says: 'back to where you were', group: 'Move' },
  { keys: ['f'], action: 'follow', says: 'follow the run live; any move pauses', group: 'Move' },
  { keys: ['/'], action: 'search', says: 'search operators, modules, files, dtypes', group: 'Find' },
  { keys: ['n'], action: 'searchNext', says: 'next hit', group: 'Find' },
  { keys: ['N'], action: 'searchPrevious', says: 'previous hit', group: 'Find' },
  { keys: [']'], action: 'siteNext', says: 'next event of the same site', group: 'Find' },
  { keys: ['['], action: 'sitePrevious', says: 'previous event of the same site', group: 'Find' },
  { keys: ['.'], action: 'eventNext', says: 'next event of the lane', group: 'Find' },
  { keys: [','], action: 'eventPrevious', says: 'previous event of the lane', group: 'Find' },
  { keys: ['Enter'], action: 'fitEvent', says: 'fit the chosen event to the screen', group: 'Find' },
  { keys: ['g'], action: 'acrossLaunch', says: 'from a GPU kernel to what launched it, and back', group: 'Find' },
  { keys: ['m'], action: 'measure', says: 'measure: from here to the next click', group: 'Look' },
  { keys: ['c'], action: 'colours', says: 'colour by kind, dtype, cause, cost', group: 'Look' },
  { keys: ['e'], action: 'selectWindow', says: 'sum up what is on the screen; of one lane, when its name has the focus', group: 'Look' },
  { keys: ['l'], action: 'list', says: 'what is on the screen as a list', group: 'Look' },
  { keys: ['L'], action: 'filterLanes', says: 'filter lanes by name', group: 'Look' },
  { keys: ['p'], action: 'side', says: 'fold the panel away', group: 'Look' },
  { keys: ['t'], action: 'theme', says: 'light, dark, or as the system', group: 'Look' },
  { keys: ['y'], action: 'copyLink', says: 'copy a link to this place', group: 'Look' },
  { keys: ['?'], action: 'help', says: 'these keys', group: 'Look' },
  { keys: ['Escape'], action: 'escape', says: 'let go of selection, measure, search', group: 'Look' },
];

export const kHeld: ReadonlySet<Action> = new Set(['zoomIn', 'zoomOut', 'panLeft', 'panRight']);

export interface KeyStroke {
  key: string;
  ctrl: boolean;
  meta: boolean;
  alt: boolean;
  /** Somebody is typing text. */
  typing: boolean;
}

export function actionOf(stroke: KeyStroke): Action | null {
  if (stroke.ctrl || stroke.meta || stroke.alt) return null;
  if (stroke.typing) return stroke.key === 'Escape' ? 'escape' : null;
  const exact = kKeys.find((line) => line.keys.includes(stroke.key));
  if (exact) return exact.action;
  // With caps lock, W means w if W has no meaning of its own.
  const lower = stroke.key.length === 1 ? stroke.key.toLowerCase() : stroke.key;
  return kKeys.find((line) => line.keys.includes(lower))?.action ?? null;
}

const kShown: Record<string, string> = {
  ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', PageUp: 'Page ↑', PageDown: 'Page ↓',
  Escape: 'Esc', Backspace: '⌫ Backspace', Enter: '↵ Enter',
};

export function shownKey(key: string): string {
  return kShown[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : /^[A-Z]$/.test(key) ? `Shift ${key}` : key);
}
