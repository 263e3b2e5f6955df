// The fleet map: every machine, zone > type > rack > slot.

import {BlockView} from './block.js';
import {STATES} from './colours.js';
import {atMostEvery, h, keep, number, serverNow} from './dom.js';
import {fitPitch, makeBlocks, otherPitch} from './layout.js';
import {poolItems, profileItems, stateItems, swatch} from './legend.js';
import {Painting} from './painting.js';
import {FLAGS, shortPool} from './store.js';

// How often the numbers around the map are counted anew, in milliseconds.
const COUNT_EVERY = 500;
// How often the map is laid out anew while machines are registered, in milliseconds.
const LAY_OUT_EVERY = 1000;

export class FleetView {
  constructor(app) {
    this.app = app;
    this.title = 'Fleet';
    this.painting = new Painting(app.store);
    this.painting.mode = sessionStorage.getItem('colour') ?? 'state';
    this.pitch = 0;  // 0: what fits
    this.zone = '';
    this.selected = -1;
    this.inspected = -1;
    this.lapses = Infinity;  // when what the inspector says of it is over
    this.machine = undefined;  // the id of what is selected: cells have other numbers after a while
    this.blocks = [];
    this.viewOf = new Map();  // cell: its block
    this.counted = 0;
    this.whole = false;  // what is laid out is the fleet, not its beginning
    this.layOutSoon = atMostEvery(LAY_OUT_EVERY, () => this.layOut());
    this.build();
  }

  build() {
    this.legend = h(
        'div', {class: 'legend', role: 'group', 'aria-label': 'Legend: press to show only these'});
    this.map = h('div', {class: 'map', id: 'map'});
    this.inspector = h('aside', {class: 'inspector', 'aria-live': 'polite', id: 'inspector'});
    this.pools = h('div', {class: 'pool-list'});
    this.zones =
        h('select', {id: 'zone', on: {change: () => this.chooseZone(this.zones.value)}},
          h('option', {value: ''}, 'All zones'));
    const mode = (value, label) =>
        h('button', {
          type: 'button',
          id: `by-${value}`,
          'aria-pressed': String(this.painting.mode === value),
          on: {click: () => this.setMode(value)}
        },
          label);
    this.find = h('input', {
      type: 'search',
      id: 'find',
      placeholder: 'Machine or pool',
      'aria-label': 'Find a machine or pool',
      on: {change: () => this.findText(), search: () => this.findText()}
    });
    const zoom = (step, label, text) =>
        h('button',
          {type: 'button', 'aria-label': label, title: label, on: {click: () => this.zoom(step)}},
          text);
    this.element = h(
        'div', {class: 'fleet'},
        h('div', {class: 'bar'},
          h('div', {class: 'segments', role: 'group', 'aria-label': 'Colour by'},
            mode('state', 'State'), mode('profile', 'Profile')),
          this.zones, this.find,
          h('div', {class: 'segments', role: 'group', 'aria-label': 'Size'},
            zoom(-1, 'Smaller', '−'), zoom(0, 'Fit', 'Fit'), zoom(1, 'Larger', '+'))),
        this.legend,
        h('div', {class: 'columns'}, this.map,
          h('div', {class: 'side'}, this.inspector, h('h2', {}, 'Pools on the map'), this.pools)));
    this.inspect(-1);
  }

  setMode(mode) {
    this.painting.mode = mode;
    sessionStorage.setItem('colour', mode);
    for (const value of ['state', 'profile'])
      this.element.querySelector(`#by-${value}`)
          .setAttribute('aria-pressed', String(mode === value));
    this.clearHighlight();
    this.count();
    this.repaint();
  }

  chooseZone(zone) {
    this.zone = zone;
    this.layOut();
  }

  zoom(step) {
    this.pitch = step === 0 ? 0 : otherPitch(this.pitchNow(), step);
    this.layOut();
  }

  findText() {
    const text = this.find.value.trim();
    if (text === '') return this.setHighlight(null);
    const index = this.app.store.indexOf.get(text);
    if (index !== undefined) {
      this.select(index);
      return this.setHighlight((one) => one === index, `machine ${text}`);
    }
    const {store} = this.app;
    const pools = new Set();
    store.words.forEach((word, i) => {
      if (word.includes('/nodePools/') && shortPool(word).includes(text)) pools.add(i);
    });
    this.setHighlight((one) => pools.has(store.pool[one]), `pools with ${text}`);
  }

  pitchNow() {
    if (this.pitch) return this.pitch;
    const count = this.zone ? this.blocks.reduce((sum, {block}) => sum + block.count, 0) :
                              this.app.store.machines;
    return fitPitch(Math.max(1, count), this.width(), innerHeight - 210);
  }

  width() {
    return Math.max(200, this.map.clientWidth || innerWidth - 360);
  }

  update({cells, moved, kinds, anew}) {
    const {store} = this.app;
    if (this.painting.store !== store)
      this.changeStore();
    else if (this.painting.resets !== store.resets)
      this.clearHighlight();
    if (anew) this.painting.refresh();
    // While the fleet arrives for the first time, it is laid out only once.
    if (anew || (moved && (store.caughtUp || this.blocks.length === 0))) {
      this.layOutSoon(anew || !this.whole ? 'once' : 'soon');
      this.whole = store.caughtUp;
    }
    for (const index of cells) this.viewOf.get(index)?.paintCell(index);
    this.followMachine();
    if (this.selected >= 0 && cells.has(this.selected))
      this.select(this.selected);
    else if (anew)
      this.inspect(this.selected);
    else if (kinds.has('protection'))
      this.inspect(this.inspected);
    const now = performance.now();
    if (now - this.counted > COUNT_EVERY && (cells.size > 0 || kinds.size > 0)) this.count();
  }

  // Another moment is shown, and so another store.
  changeStore() {
    this.clearHighlight();
    this.painting.show(this.app.store);
  }

  // The number of the selected machine differs between stores, and after a store began anew; until the machine has come
  // again, no cell is selected.
  followMachine() {
    const index = this.app.store.indexOf.get(this.machine) ?? -1;
    if (index === this.selected) return;
    this.selected = index;
    this.viewOf.get(index)?.mark(index);
    this.inspect(index);
  }

  second() {
    if (this.lapses <= serverNow()) this.inspect(this.inspected);
    if (performance.now() - this.counted > 2 * COUNT_EVERY) this.count();
  }

  layOut() {
    const {store} = this.app;
    const zoneWord = this.zone;
    const blocks = makeBlocks(
        store, zoneWord ? (index) => store.words[store.zone[index]] === zoneWord : undefined);
    this.viewOf.clear();
    const zones = new Map();
    this.blocks = [];
    for (const block of blocks) {
      const canvas =
          h('canvas', {tabindex: '0', role: 'img', 'data-block': `${block.zone}/${block.type}`});
      const view = new BlockView(canvas, block, this.painting);
      this.listen(canvas, view);
      for (const index of view.placeOf.keys()) this.viewOf.set(index, view);
      this.blocks.push(view);
      if (!zones.has(block.zone)) zones.set(block.zone, []);
      zones.get(block.zone).push(view);
    }
    this.map.replaceChildren(...[...zones].map(([zone, views]) => this.zoneElement(zone, views)));
    if (blocks.length === 0) this.map.append(this.nothing());
    const width = this.width();
    const pitch = this.pitchNow();
    for (const view of this.blocks) view.layOut(pitch, width - 2);
    this.count();
  }

  nothing() {
    return h(
        'p', {class: 'empty'},
        this.app.store.caughtUp ? 'No machine is registered yet.' : 'Loading the fleet …');
  }

  zoneElement(zone, views) {
    return h(
        'section', {class: 'zone', 'data-zone': zone},
        h('h2', {}, zone || 'No zone',
          h('span', {class: 'muted'},
            ` ${number(views.reduce((sum, view) => sum + view.block.count, 0))} machines`)),
        h('div', {class: 'blocks'},
          views.map(
              (view) =>
                  h('figure', {class: 'block'},
                    h('figcaption', {}, h('b', {}, view.block.type || 'no type'), ' ',
                      view.caption = h('span', {class: 'muted'})),
                    view.canvas))));
  }

  repaint() {
    for (const view of this.blocks)
      if (view.size) view.paintAll();
    this.viewOf.get(this.selected)?.mark(this.selected);
  }

  listen(canvas, view) {
    const cellOf = (event) => view.cellAt(event.offsetX, event.offsetY);
    canvas.addEventListener('pointermove', (event) => this.inspect(cellOf(event)));
    canvas.addEventListener('pointerleave', () => this.inspect(this.selected));
    canvas.addEventListener('click', (event) => this.select(cellOf(event)));
    canvas.addEventListener('dblclick', () => this.openPool());
    canvas.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') return this.openPool();
      if (!event.key.startsWith('Arrow')) return;
      event.preventDefault();
      const from = this.viewOf.get(this.selected) === view ? this.selected : -1;
      this.select(from < 0 ? view.placeOf.keys().next().value : view.neighbour(from, event.key));
    });
  }

  select(index) {
    const before = this.selected;
    this.selected = index;
    this.machine = this.app.store.ids[index];
    if (before >= 0) this.viewOf.get(before)?.paintCell(before);
    if (index >= 0) this.viewOf.get(index)?.mark(index);
    this.inspect(index);
  }

  openPool() {
    const {store} = this.app;
    const pool = this.selected < 0 ? '' : store.words[store.pool[this.selected]];
    if (pool) location.hash = `#/pool/${encodeURIComponent(pool)}`;
  }

  inspect(index) {
    const {store} = this.app;
    this.inspected = index;
    this.lapses = Infinity;
    if (index < 0 || store.state[index] < 0) {
      this.inspector.replaceChildren(
          h('p', {class: 'muted'},
            'Point at a machine, or go to one with the arrow keys; Enter opens its pool.'));
      return;
    }
    const state = store.stateName(index);
    const pool = store.words[store.pool[index]];
    const flags = Object.entries(FLAGS)
                      .filter(([, bit]) => store.flags[index] & bit)
                      .map(([name]) => ({
                             spot: 'spot',
                             active: 'has work',
                             unhealthy: 'unhealthy',
                             chosen: 'to be rebooted'
                           })[name]);
    const until = store.documents.protection.get(store.ids[index])?.until;
    if (until > serverNow()) {
      flags.push('protected');
      this.lapses = until;
    }
    const row = (name, value) => value ? [h('dt', {}, name), h('dd', {}, value)] : [];
    this.inspector.replaceChildren(
        h('h2', {}, store.ids[index]),
        h('p', {class: 'state'},
          swatch(this.painting.stateColours[store.state[index]], STATES[state]?.sign),
          STATES[state]?.label ?? state,
          flags.length > 0 ? h('span', {class: 'muted'}, ` ${flags.join(', ')}`) : null),
        h('dl', {},
          row('Pool',
              pool && h('a', {href: `#/pool/${encodeURIComponent(pool)}`}, shortPool(pool))),
          row('Runs', store.words[store.profile[index]]),
          row('Zone', store.words[store.zone[index]]), row('Type', store.words[store.type[index]]),
          row('Rack',
              store.words[store.rack[index]] &&
                  `${store.words[store.rack[index]]}, slot ${store.slot[index]}`),
          row('Fabric', store.words[store.fabric[index]])));
  }

  setHighlight(test, name = '', pool = 0) {
    this.painting.highlight = test;
    this.painting.highlightPool = pool;
    this.highlighted = test ? name : '';
    this.repaint();
    this.count();
  }

  clearHighlight() {
    this.painting.highlight = null;
    this.painting.highlightPool = 0;
    this.highlighted = '';
  }

  // Counts in the legend, the captions, and the list of pools: of what is on the map.
  count() {
    this.counted = performance.now();
    const {store} = this.app;
    this.countZones();
    const states = new Uint32Array(store.states.length);
    const profiles = new Uint32Array(store.words.length);
    const pools = new Uint32Array(store.words.length);
    // Of the past it is known whether machines were Nodes, but not their own states.
    const idle = store.states.indexOf(this.app.moment === null ? 'free' : 'nodeless');
    const word = this.app.moment === null ? 'free' : 'without a Node';
    for (const view of this.blocks) {
      let unheld = 0;
      for (const index of view.cells) {
        if (store.state[index] < 0) continue;  // gone, and laid out until soon
        if (store.state[index] === idle) ++unheld;
        ++states[store.state[index]];
        ++profiles[store.profile[index]];
        ++pools[store.pool[index]];
      }
      const text = `${number(view.block.count)}, ${number(unheld)} ${word}`;
      if (view.caption.textContent === text) continue;
      view.caption.textContent = text;
      view.canvas.setAttribute(
          'aria-label',
          `${view.block.zone} ${view.block.type}: ${view.block.count} machines, ${unheld} ${word}`);
    }
    const byState = this.painting.mode === 'state';
    keep(this.legend, byState ? stateItems(this, states) : profileItems(this, profiles));
    keep(this.pools, poolItems(this, pools));
  }

  countZones() {
    const {store} = this.app;
    // The chosen zone stays in the list, also if it has not come again yet.
    const names = [...new Set([...store.documents.zone.keys(), this.zone])].filter(Boolean).sort();
    keep(this.zones, [
      {key: '', print: '', make: () => h('option', {value: ''}, 'All zones')},
      ...names.map(
          (name) => ({key: name, print: name, make: () => h('option', {value: name}, name)}))
    ]);
  }
}
