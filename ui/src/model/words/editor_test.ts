import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choiceOf, choiceText, editorAddress, kNoEditor, whatIsWrong } from './editor.ts';

const at = { file: 'a b/model.py', line: 41 };
const root = '/home/you/project';

test('each editor has its own address', () => {
  assert.equal(editorAddress({ editor: 'vscode', template: '' }, at, root), 'vscode://file/home/you/project/a%20b/model.py:41');
  assert.equal(editorAddress({ editor: 'cursor', template: '' }, at, root), 'cursor://file/home/you/project/a%20b/model.py:41');
  assert.equal(editorAddress({ editor: 'jetbrains', template: '' }, at, root), 'jetbrains://pycharm/navigate/reference?project=project&path=a%20b/model.py:41');
  assert.equal(editorAddress({ editor: 'own', template: 'emacs://open?url=file://{path}&line={line}' }, at, root), 'emacs://open?url=file:///home/you/project/a%20b/model.py&line=41');
});

test('there is no link without an editor, a place, or a whole path', () => {
  const vscode = { editor: 'vscode', template: '' } as const;
  assert.equal(editorAddress(kNoEditor, at, root), null);
  assert.equal(editorAddress(vscode, { file: null, line: 3 }, root), null);
  assert.equal(editorAddress(vscode, at, null), null);
  assert.equal(editorAddress(vscode, { file: 'site-packages/torch/x.py', line: 1 }, root), null);
  assert.equal(editorAddress(vscode, { file: '/x.py', line: null }, null), 'vscode://file/x.py:1');
});

test('a template that would run something, or lead nowhere, is refused', () => {
  for (const template of ['javascript:alert("{path}")', 'JavaScript:{path}', 'data:text/html,{path}', '{path}', '//host/{path}', 'vscode://file', ''])
    assert.notEqual(whatIsWrong(template), null, template);
  assert.equal(editorAddress({ editor: 'own', template: 'javascript:{path}' }, at, root), null);
  assert.equal(whatIsWrong('http://localhost:8080/?file={path}'), null);
});

test('a choice comes back as it was kept', () => {
  const own = { editor: 'own', template: 'x://{path}|{line}' } as const;
  assert.deepEqual(choiceOf(choiceText(own)), own);
  assert.deepEqual(choiceOf(null), kNoEditor);
  assert.deepEqual(choiceOf('notepad|x'), kNoEditor);
});
