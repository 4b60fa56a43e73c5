import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonTokens } from './python_tokens.ts';

const told = (line: string) => pythonTokens(line).filter((one) => one.kind !== 'plain').map((one) => `${one.kind}:${one.text}`);

test('keywords, texts, numbers, comments and names of what is defined', () => {
  assert.deepEqual(told('    return f"a # {x}" + 1e-3  # half'), ['keyword:return', 'text:f"a # {x}"', 'number:1e', 'number:3', 'comment:# half']);
  assert.deepEqual(told('class Net(nn.Module):'), ['keyword:class', 'name:Net']);
  assert.deepEqual(told('def forward(self, in_put): pass'), ['keyword:def', 'name:forward', 'keyword:pass']);
});

test('no letter is lost, whatever the line', () => {
  for (const line of ['', '   ', '"not closed', "'''begins", 'x = "\\"" + \'\' @ ~ é 漢字', '\tif x:# c', '"""a""" "b'])
    assert.equal(pythonTokens(line).map((one) => one.text).join(''), line);
});
