// How far a pool's rollout is, rack by rack.

import {h, number, ticking} from './dom.js';
import {chip, empty} from './parts.js';
import {FLAGS} from './store.js';

// The stages of a Node in a rollout, in the order in which they are shown.
export const STAGES = [
  ['done', 'on the active configuration', '✓'],
  ['under-way', 'rebooting', '↻'],
  ['chosen', 'chosen, waits', '…'],
  ['failed', 'failed', '×'],
  ['old', 'still on another', ''],
  ['away', 'not running', ''],
];

const MOODS = {
  RUNNING: 'waits',
  PAUSED: 'waits',
  HALTED: 'ill',
  DONE: 'well',
  CANCELLED: 'plain'
};

// The pool's racks by name, each with the stages of its Nodes.
export function racksOf(store, name, pool) {
  const word = store.words.indexOf(name);
  const failed = new Set(pool.rollout?.failed ?? []);
  const racks = new Map();
  for (const index of store.cells()) {
    if (store.pool[index] !== word) continue;
    const rack = store.words[store.rack[index]] || 'no rack';
    if (!racks.has(rack)) racks.set(rack, []);
    racks.get(rack).push({
      machine: store.ids[index],
      slot: store.slot[index],
      stage: stageOf(store, index, pool, failed)
    });
  }
  return [...racks]
      .sort((a, b) => a[0].localeCompare(b[0], 'en', {numeric: true}))
      .map(([rack, nodes]) => ({
             rack,
             nodes: nodes.sort((a, b) => a.slot - b.slot || (a.machine < b.machine ? -1 : 1))
           }));
}

function stageOf(store, index, pool, failed) {
  const state = store.stateName(index);
  if (state === 'reconfiguring') return 'under-way';
  if (failed.has(store.ids[index])) return 'failed';
  if (store.words[store.profile[index]] === pool.profile) return 'done';
  if (store.flags[index] & FLAGS.chosen) return 'chosen';
  return store.profile[index] === 0 ? 'away' : 'old';
}

// The element that shows a pool's rollout; `racks`: of racksOf.
export function rolloutElement(pool, racks) {
  const counts = Object.fromEntries(STAGES.map(([stage]) => [stage, 0]));
  for (const {nodes} of racks)
    for (const {stage} of nodes) ++counts[stage];
  const all = racks.reduce((sum, {nodes}) => sum + nodes.length, 0);
  const {rollout} = pool;
  if (all === 0 && !rollout) return empty('It has no Nodes.');
  const facts = rollout ?
      [
        chip(MOODS[rollout.state] ?? 'plain', rollout.state.toLowerCase()),
        h('span', {}, `at most ${rollout.maxUnavailable || pool.maxUnavailable || '1'} at a time`),
        h('span', {}, `${number(rollout.rebooted)} rebooted`),
        h('span', {},
          `${number(rollout.failed.length)} of ${
              number(rollout.allowedFailures)} failures allowed`),
        h('span', {class: 'muted'}, 'begun ', ticking('ago', rollout.begun), ' ago'),
      ] :
      [h('span', {class: 'muted'}, 'no reconfiguration was asked for')];
  return h(
      'div', {class: 'rollout'}, h('p', {class: 'facts'}, facts),
      rollout?.halt ? h('p', {class: 'halt'}, rollout.halt) : null,
      h('div', {
        class: 'stack big',
        role: 'img',
        'aria-label': STAGES.map(([stage, words]) => `${counts[stage]} ${words}`).join(', ')
      },
        STAGES.filter(([stage]) => counts[stage] > 0)
            .map(([stage]) => h('i', {
                   class: stage,
                   style: {width: `${(100 * counts[stage]) / Math.max(1, all)}%`}
                 }))),
      h('p', {class: 'key'},
        STAGES.filter(([stage]) => counts[stage] > 0)
            .flatMap(
                ([stage, words, sign]) =>
                    [h('i', {class: `mark stage ${stage}`}, sign),
                     h('span', {'data-stage': stage, 'data-count': counts[stage]},
                       `${number(counts[stage])} ${words}`)])),
      h('div', {class: 'racks'}, racks.map(({rack, nodes}) => {
        const done = nodes.filter((node) => node.stage === 'done').length;
        return h(
            'div', {class: 'rack', 'data-rack': rack},
            h('div', {class: 'slots'},
              nodes.map(
                  (node) =>
                      h('i', {
                        class: `stage ${node.stage}`,
                        title:
                            `${node.machine}: ${STAGES.find(([stage]) => stage === node.stage)[1]}`
                      },
                        STAGES.find(([stage]) => stage === node.stage)[2]))),
            h('div', {class: 'rack-name'}, rack),
            h('div', {class: 'muted small'}, `${done} of ${nodes.length}`));
      })));
}
