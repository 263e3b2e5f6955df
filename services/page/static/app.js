// Puts the page together: the stream fills the store, the store's changes reach the view that is
// shown, the address's hash says which that is.

import {h, liveNow, number, setMoment, setServerTime, tick} from './dom.js';
import {FleetView} from './fleet.js';
import {HealthView} from './health.js';
import {PastBar} from './past.js';
import {PoolView} from './pool.js';
import {PoolsView} from './pools.js';
import {QueueView} from './queue.js';
import {QuotaView} from './quota.js';
import {RolloutsView} from './rollouts.js';
import {Store} from './store.js';
import {ask, follow} from './stream.js';

const VIEWS = [
  ['fleet', 'Fleet', FleetView],
  ['pools', 'Pools', PoolsView],
  ['quota', 'Quota', QuotaView],
  ['queue', 'Queue & spot', QueueView],
  ['rollouts', 'Rollouts', RolloutsView],
  ['health', 'Health', HealthView],
];

// The text that a link has; as it is where it is not encoded.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class App {
  constructor() {
    this.live = new Store();
    this.store = this.live;  // what is shown: as it is, or as it was
    this.begun = null;
    this.health = {watches: [], services: []};
    this.connected = false;
    this.pending = {cells: new Set(), moved: false, kinds: new Set(), anew: true};
    this.scheduled = false;
    this.frames = 0;
    this.moment = null;  // milliseconds; null: now
    this.view = null;
    this.main = document.getElementById('main');
    this.makeTabs();
    this.past = new PastBar(document.getElementById('time'), {
      ask: (at) => ask('/api/past', {at}),
      show: (answer) => this.showPast(answer),
      showNow: () => this.showNow(),
    });
    addEventListener('hashchange', () => this.show());
    matchMedia('(prefers-color-scheme: light)').addEventListener('change', () => this.touch({
      anew: true
    }));
    addEventListener('resize', () => this.touch({anew: true}));
    this.show();
    follow({
      begin: (data) => this.begin(data),
      frame: (data) => this.frame(data),
      beat: (data) => this.beat(data),
      connected: (is) => this.setConnected(is),
    });
    setInterval(() => this.second(), 1000);
  }

  makeTabs() {
    for (const [name, label] of VIEWS) {
      document.getElementById('tabs').append(h('a', {href: `#/${name}`, id: `tab-${name}`}, label));
    }
  }

  show() {
    const [, name, argument] =
        location.hash.match(/^#\/([a-z]+)(?:\/(.*))?$/) ?? [null, 'fleet', ''];
    const known = VIEWS.find(([one]) => one === name) ?? VIEWS[0];
    const View = name === 'pool' ? PoolView : known[2];
    const tab = name === 'pool' ? 'pools' : known[0];
    this.tab = tab;
    this.drawCells();
    for (const link of document.querySelectorAll('#tabs a')) {
      if (link.id === `tab-${tab}`)
        link.setAttribute('aria-current', 'page');
      else
        link.removeAttribute('aria-current');
    }
    this.view?.leave?.();
    this.main.className = `view-${name === 'pool' ? 'pool' : known[0]}`;
    this.view = new View(this, decoded(argument ?? ''));
    this.main.replaceChildren(this.view.element);
    document.title = `${this.view.title} · Muster`;
    this.touch({anew: true});
  }

  begin(data) {
    this.begun = data;
    this.live.reset(data);
    this.drawCells();
    if (this.store === this.live) this.touch({anew: true});
  }

  // The pages of other cells, each at the view that is looked at here.
  drawCells() {
    const links = (this.begun?.cells ?? []).map(({cell, url}) =>
        h('a', {href: `${url}#/${this.tab}`, title: `The page of cell ${cell}`}, cell));
    document.getElementById('cells').replaceChildren(...links);
  }

  frame(data) {
    const changes = this.live.apply(data);
    ++this.frames;
    if (this.store === this.live) this.touch(changes);
  }

  // Shows the server's answer about a past moment, in a store of its own; the live store goes on.
  showPast({at, frame}) {
    this.store = new Store();
    this.store.reset(this.begun);
    this.store.apply(frame);
    this.moment = at;
    setMoment(at);
    this.touch({anew: true});
  }

  showNow() {
    if (this.store === this.live) return;
    this.store = this.live;
    this.moment = null;
    setMoment(null);
    this.touch({anew: true});
  }

  beat(data) {
    setServerTime(data.now);
    this.health = data.health;
    this.setConnected(true);
    this.touch({kinds: new Set(['health'])});
  }

  // Collects changes until the next animation frame. In a hidden window they wait until it is shown.
  touch({cells = [], moved = false, kinds = new Set(), anew = false}) {
    const pending = this.pending;
    for (const index of cells) pending.cells.add(index);
    pending.moved ||= moved;
    pending.anew ||= anew;
    for (const kind of kinds) pending.kinds.add(kind);
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.scheduled = false;
    const changes = this.pending;
    this.pending = {cells: new Set(), moved: false, kinds: new Set(), anew: false};
    this.view.update(changes);
    this.drawFoot();
  }

  second() {
    tick();
    this.view.second?.();
    this.drawFoot();
  }

  setConnected(is) {
    this.connected = is;
    this.drawFoot();
  }

  // The connection above, the time below.
  drawFoot() {
    const broken = this.health.watches.filter((watch) => !watch.live);
    const state = !this.connected ? 'lost' :
        !this.live.caughtUp       ? 'connecting' :
        this.moment !== null      ? 'past' :
        broken.length > 0         ? 'stale' :
                                    'live';
    const text = {
      lost: 'no connection',
      connecting: 'loading',
      past: 'as it was',
      stale: `no news of ${broken.map((watch) => watch.service).join(', ')}`,
      live: 'live'
    }[state];
    const connection = document.getElementById('connection');
    if (connection.dataset.state !== state || connection.textContent !== text) {
      connection.dataset.state = state;
      connection.textContent = text;
    }
    this.past.draw({
      now: state === 'lost' ? null : liveNow(),
      oldest: oldestOf(this.health.services),
      sum:
          `${number(this.store.machines)} machines, ${number(this.store.documents.pool.size)} pools`
    });
  }
}

// The earliest time to which all journals reach back that the past is read from; undefined: not known.
function oldestOf(services) {
  const known = services.map((one) => ['lifecycle', 'quota'].includes(one.service) && one.oldest)
                    .filter(Number);
  return known.length > 0 ? Math.max(...known) : undefined;
}

// For the console, and for tests.
globalThis.muster = new App();
