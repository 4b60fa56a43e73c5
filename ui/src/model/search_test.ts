import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { causeName, kindName } from './looks/colours.ts';
import { completed, fieldSuggestions, partAt, quoted, searchForModule, valueSuggestions } from './search.ts';

/** The part at the "|". */
function at(marked: string) {
  const caret = marked.indexOf('|');
  return partAt(marked.replace('|', ''), caret);
}

test('the part that is typed is the one at the caret', () => {
  assert.deepEqual(at('ca|'), { begin: 0, end: 2, field: null, typed: 'ca' });
  assert.deepEqual(at('linear ca|'), { begin: 7, end: 9, field: null, typed: 'ca' });
  assert.deepEqual(at('cause:us|er op:mm'), { begin: 6, end: 10, field: 'cause', typed: 'us' });
  assert.deepEqual(at('cause:user OP:|'), { begin: 14, end: 14, field: 'op', typed: '' });
  assert.deepEqual(at('-role:we|'), { begin: 6, end: 8, field: 'role', typed: 'we' });
  assert.deepEqual(at('not ro|'), { begin: 4, end: 6, field: null, typed: 'ro' });
  assert.deepEqual(at('linear |'), { begin: 7, end: 7, field: null, typed: '' });
  assert.deepEqual(at('|'), { begin: 0, end: 0, field: null, typed: '' });
});

test('each value of a list is a part', () => {
  assert.deepEqual(at('op:mm,ad|,bmm'), { begin: 6, end: 8, field: 'op', typed: 'ad' });
  assert.deepEqual(at('op:mm,|'), { begin: 6, end: 6, field: 'op', typed: '' });
});

test('quotes hold a part together', () => {
  assert.deepEqual(at('region:"autocast cpu| bf" x'), { begin: 7, end: 24, field: 'region', typed: 'autocast cpu' });
  assert.deepEqual(at('region:"auto|'), { begin: 7, end: 12, field: 'region', typed: 'auto' });
  assert.deepEqual(at('"a b" ki|'), { begin: 6, end: 8, field: null, typed: 'ki' });
  assert.deepEqual(at('op:"a \\" b" ki|'), { begin: 12, end: 14, field: null, typed: 'ki' });
});

test('a place, a qualified name and an arrow are words', () => {
  assert.equal(at('train.py:1|').field, null);
  assert.equal(at('aten::m|').field, null);
  assert.deepEqual(at('->bf|'), { begin: 0, end: 4, field: null, typed: '->bf' });
  assert.deepEqual(at('file:train.py:1|').field, 'file');
});

test('the caret may stand in the name of a field', () => {
  assert.deepEqual(at('ca|use:x'), { begin: 0, end: 6, field: null, typed: 'ca' });
});

const kFields = ['cause', 'cache', 'role'].map((search_field) => ({ search_field, field_meaning: `what ${search_field} is` }));

test('fields are suggested by their beginning', () => {
  assert.deepEqual(fieldSuggestions(at('CA|'), kFields).map((one) => one.insert), ['cause:', 'cache:']);
  assert.equal(fieldSuggestions(at('|'), kFields).length, 3);
  assert.equal(fieldSuggestions(at('"ca|'), kFields).length, 0);
  assert.equal(fieldSuggestions(at('use|'), kFields).length, 0);
});

test('values come with their counts and names, until one is whole', () => {
  const values = [{ field_value: 'user_to', shown_name: 'explicit to()', event_count: 9 }];
  assert.deepEqual(valueSuggestions(at('cause:us|'), values), [{ insert: 'user_to', label: 'user_to', detail: 'explicit to()', count: 9 }]);
  assert.deepEqual(valueSuggestions(at('cause:user_to|'), values), []);
});

test('what is taken goes into the place of the part', () => {
  assert.deepEqual(completed('linear ca', at('linear ca|'), 'cause:'), { text: 'linear cause:', caret: 13 });
  assert.deepEqual(completed('-cause:us', at('-cause:us|'), 'user_to'), { text: '-cause:user_to ', caret: 15 });
  assert.deepEqual(completed('cause:us op:mm', at('cause:us| op:mm'), 'user_to'), { text: 'cause:user_to op:mm', caret: 13 });
  assert.deepEqual(completed('region:"auto', at('region:"auto|'), quoted('autocast cpu')).text, 'region:"autocast cpu" ');
});

test('values are quoted where they must be', () => {
  assert.deepEqual(['mm', 'aten::add.Tensor', 'train.py:12', 'a b', 'x,y', '*', 'a"b\\', ''].map(quoted), ['mm', 'aten::add.Tensor', 'train.py:12', '"a b"', '"x,y"', '"*"', '"a\\"b\\\\"', '""']);
});

test('a module is searched for by its path, in its model where there are several', () => {
  assert.equal(searchForModule('Net', 'encoder.0', true), 'module:encoder.0');
  assert.equal(searchForModule('Net#2', 'encoder.0', false), 'model:Net#2 module:encoder.0');
  assert.equal(searchForModule('Net', '', true), 'model:Net');
});

// The collector searches what the page prints, so it has the same names.
test('the collector knows the names that the page prints', () => {
  const source = readFileSync(new URL('../../../server/web/search/fields.cc', import.meta.url), 'utf8');
  const lists = readFileSync(new URL('../../../agent/lanes/closed_lists.h', import.meta.url), 'utf8');
  const causes = [...lists.split('CASTSCOPE_ROLES')[0].matchAll(/VALUE\((k\w+), \d+, "(\w+)"/g)];
  assert.ok(causes.length > 10);
  for (const [, enumerator, cause] of causes) {
    const named = new RegExp(`Cause::${enumerator}:\\s*return "([^"]*)"`).exec(source)?.[1];
    assert.equal(named ?? cause, causeName(cause), `server/web/search/fields.cc, shown_name: ${cause}`);
  }
  const shades = readFileSync(new URL('../../../server/timeline/tracks/shades.cc', import.meta.url), 'utf8');
  const words = (text: string, of: RegExp) => [...of.exec(text)![1].matchAll(/"([^"]*)"/g)].map((found) => found[1]);
  const kinds = words(shades, /name\(ShadeKind kind\)[^=]*= \{([^}]*)\}/);
  assert.deepEqual(words(source, /shown_name\(ShadeKind kind\)[^=]*= \{([^}]*)\}/), kinds.map(kindName));
});
