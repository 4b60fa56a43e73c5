import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absolute, inRoot } from './paths.ts';

test('a file in the root is told from there, another one whole', () => {
  assert.equal(inRoot('/home/you/project/model.py', '/home/you/project'), 'model.py');
  assert.equal(inRoot('/home/you/projects/model.py', '/home/you/project'), '/home/you/projects/model.py');
  assert.equal(inRoot('/home/you/project/.venv/lib/site-packages/timm/a.py', '/home/you/project'), 'site-packages/timm/a.py');
  assert.equal(inRoot('model.py', null), 'model.py');
});

test('a path is whole, or not known', () => {
  assert.equal(absolute('model.py', '/home/you/project'), '/home/you/project/model.py');
  assert.equal(absolute('/usr/lib/x.py', '/home/you/project'), '/usr/lib/x.py');
  assert.equal(absolute('model.py', null), null);
  assert.equal(absolute('site-packages/timm/a.py', '/home/you/project'), null);
  assert.equal(absolute('<string>', '/home/you/project'), null);
});
