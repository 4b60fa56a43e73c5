// Links that open a place of the source in an editor on the reader's machine. There are none until somebody chooses an
// editor, and none where the whole path of a file is not known.

import { absolute } from './paths.ts';

export const kEditors = ['none', 'vscode', 'cursor', 'jetbrains', 'own'] as const;
export type Editor = (typeof kEditors)[number];

export const kEditorNames: Record<Editor, string> = { none: 'no editor', vscode: 'VS Code', cursor: 'Cursor', jetbrains: 'PyCharm (JetBrains)', own: 'a template' };

/** {path} is the whole path, {file} the one from the run's root, whose name is {project}. */
const kTemplates: Record<Exclude<Editor, 'none' | 'own'>, string> = {
  vscode: 'vscode://file{path}:{line}',
  cursor: 'cursor://file{path}:{line}',
  jetbrains: 'jetbrains://pycharm/navigate/reference?project={project}&path={file}:{line}',
};

export interface EditorChoice {
  editor: Editor;
  /** Only for `own`. */
  template: string;
}
export const kNoEditor: EditorChoice = { editor: 'none', template: '' };

const kNeverOpened = /^(javascript|data|blob|vbscript|about):/i;

/** Why a template makes no link; null: it does. */
export function whatIsWrong(template: string): string | null {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(template) || kNeverOpened.test(template)) return 'A template begins with the name of a protocol, such as emacs:// or http://localhost:';
  return template.includes('{path}') || template.includes('{file}') ? null : 'A template has {path} in it, and {line}.';
}

const encoded = (path: string) => path.split('/').map(encodeURIComponent).join('/');

/** null: there is no link. */
export function editorAddress(choice: EditorChoice, at: { file: string | null; line: number | null }, root: string | null): string | null {
  if (choice.editor === 'none' || at.file === null) return null;
  const template = choice.editor === 'own' ? choice.template : kTemplates[choice.editor];
  const path = absolute(at.file, root);
  if (path === null || whatIsWrong(template) !== null) return null;
  const values: Record<string, string> = { path: encoded(path), file: encoded(at.file), line: String(at.line ?? 1), project: encodeURIComponent((root ?? '').split('/').pop() ?? '') };
  return template.replace(/\{(path|file|line|project)\}/g, (_all, name: string) => values[name]);
}

/** As localStorage keeps it. */
export function choiceText(choice: EditorChoice): string {
  return `${choice.editor}|${choice.template}`;
}

export function choiceOf(text: string | null): EditorChoice {
  const mark = text?.indexOf('|') ?? -1;
  const editor = kEditors.find((one) => one === text?.slice(0, mark));
  return text === null || editor === undefined ? kNoEditor : { editor, template: text.slice(mark + 1) };
}
