// What stands around the map: the legend of states or profiles, and the pools on the map, each with its
// number of machines. A pressed entry shows only its machines. Returns items for keep of dom.js.

import {outlineColour, STATES} from './colours.js';
import {h, number} from './dom.js';
import {shortPool} from './store.js';

const SHOWN_POOLS = 40;

// `counts`: machines by the number of their state. A pressed entry stays even without machines, so that it can be released.
export function stateItems(view, counts) {
  const {painting, app: {store}} = view;
  const items = [];
  store.states.forEach((name, state) => {
    const count = counts[state];
    if (count === 0 && view.highlighted !== name) return;
    const {label, sign} = STATES[name] ?? {label: name, sign: ''};
    const face = faceOf(painting.stateColours[state], sign);
    items.push(entry(view, name, face, label, count, () => showOnly(view, 'state', name)));
  });
  return items;
}

// `counts`: machines by the word of their profile.
export function profileItems(view, counts) {
  const {painting, app: {store}} = view;
  return mostFrequent(counts).map(([profile, count]) => {
    const name = store.words[profile];
    const face = faceOf(painting.profileColour(profile), painting.profileSign(profile));
    const press = () => showOnly(view, 'profile', name);
    return entry(view, name, face, profileLabel(store, name), count, press);
  });
}

// `np-0123456789ab: driver 570.124.06, image 2.10.1, Kubernetes 1.33`.
export function profileLabel(store, name) {
  const facts = profileFacts(store, name);
  return facts ? `${name}: ${facts}` : name;
}

export function profileFacts(store, name) {
  const profile = store.documents.profile.get(name);
  if (!profile) return '';
  const facts = [`image ${profile.image}`, `Kubernetes ${profile.kubernetes}`];
  if (profile.driver) facts.unshift(`driver ${profile.driver}`);
  return facts.join(', ');
}

// `counts`: machines by the word of their pool.
export function poolItems(view, counts) {
  const all = mostFrequent(counts);
  const items = all.slice(0, SHOWN_POOLS).map(([pool, count]) => poolItem(view, pool, count));
  const more = all.length - SHOWN_POOLS;
  if (more > 0) {
    const text = `and ${number(more)} more: see Pools`;
    items.push({key: 'more', print: text, make: () => h('p', {class: 'muted'}, text)});
  }
  return items;
}

function poolItem(view, pool, count) {
  const {store} = view.app;
  const name = store.words[pool];
  const colour = outlineColour(pool, view.painting.scheme);
  const ring = {
    print: colour,
    make: () => h('i', {class: 'ring', style: {'border-color': colour}}),
  };
  const press = () => showOnly(view, 'pool', name);
  const button = entry(view, name, ring, shortPool(name), count, press);
  const open = {
    href: `#/pool/${encodeURIComponent(name)}`,
    'aria-label': `Open ${shortPool(name)}`,
  };
  return {
    key: name,
    print: button.print,
    make: () => h('div', {class: 'pool-entry'}, button.make(), h('a', open, '›')),
  };
}

// When an entry is pressed, another store may be shown than when it was made: numbers differ between
// stores, so the entry is looked up by its name.
function showOnly(view, column, name) {
  const {store} = view.app;
  const names = column === 'state' ? store.states : store.words;
  const wanted = names.indexOf(name);
  const test = (index) => store[column][index] === wanted;
  view.setHighlight(test, name, column === 'pool' ? wanted : 0);
}

// A function that makes the beginning of an entry; it is called only if the entry is drawn anew.
function faceOf(colour, sign) {
  return {print: `${colour} ${sign}`, make: () => swatch(colour, sign)};
}

function entry(view, key, face, label, count, press) {
  const pressed = view.highlighted === key;
  const attributes = {
    type: 'button',
    class: 'entry',
    title: 'Show only these',
    'data-name': key,
    'data-count': count,
    'aria-pressed': String(pressed),
    on: {click: () => (view.highlighted === key ? view.setHighlight(null) : press())},
  };
  return {
    key,
    print: `${face.print} ${label} ${count} ${pressed}`,
    make: () =>
        h('button', attributes, face.make(), h('span', {}, label), h('b', {}, number(count))),
  };
}

// [[number, count], ...] of the numbers with a count, the largest count first; number 0 means none and is left out.
function mostFrequent(counts) {
  const all = [];
  for (let i = 1; i < counts.length; ++i) {
    if (counts[i] > 0) all.push([i, counts[i]]);
  }
  return all.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

export function swatch(colour, sign = '') {
  const attributes = {
    class: 'swatch',
    style: {'background-color': colour},
    'aria-hidden': 'true',
  };
  return h('i', attributes, sign);
}
