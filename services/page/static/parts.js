// What several views show alike.

import {h} from './dom.js';
import {shortPool} from './store.js';

export function poolLink(name) {
  return name ? h('a', {href: `#/pool/${encodeURIComponent(name)}`}, shortPool(name)) :
                h('span', {class: 'muted'}, 'unknown');
}

// The status with which a condition is well: a False is not always bad.
const WELL = {
  Validated: 'True',
  Capacity: 'True',
  Quota: 'True',
  AtTarget: 'True',
  NodeReconfigurationRequired: 'False',
  MaxNodesUnreachable: 'False'
};

export function conditionMood(condition) {
  const well = WELL[condition.type];
  if (well === undefined) return 'plain';
  if (condition.status === well) return 'well';
  return condition.status === 'Unknown' ||
          ['AtTarget', 'NodeReconfigurationRequired'].includes(condition.type) ?
      'waits' :
      'ill';
}

const SIGNS = {
  well: '✓',
  waits: '…',
  ill: '!',
  plain: '·'
};

export function chip(mood, text, title) {
  return h(
      'span', {class: `chip ${mood}`, title}, h('i', {'aria-hidden': 'true'}, SIGNS[mood] ?? ''),
      text);
}

// A chip for each condition of a pool that is not as it should be; if all are, a single one that says so. Only Ready decides that all
// are: while nobody reconciles, the others say what was so before.
export function poolChips(pool) {
  if (pool.deleting) return [chip('waits', 'Deleting')];
  const troubled = pool.conditions.filter((one) => ['waits', 'ill'].includes(conditionMood(one)));
  if (troubled.length > 0)
    return troubled.map((one) => chip(conditionMood(one), `${one.type}: ${one.reason}`, one.message));
  const ready = pool.conditions.find((one) => one.type === 'Ready');
  if (ready?.status === 'True') return [chip('well', 'Healthy')];
  return [chip('waits', `Ready: ${ready?.reason ?? 'not told yet'}`, ready?.message)];
}

// Parts of a whole as one bar: [[class, value, words], ...].
export function stackedBar(parts, whole, label) {
  return h(
      'div', {class: 'stack', role: 'img', 'aria-label': label, title: label},
      parts.filter(([, value]) => value > 0)
          .map(
              ([name, value]) =>
                  h('i', {class: name, style: {width: `${(100 * value) / Math.max(1, whole)}%`}})));
}

export function empty(text) {
  return h('p', {class: 'empty'}, text);
}
