// Puts the page together: the stream fills the store, the store's changes reach the view that is
// shown, the address's hash says which that is.

import {clockTime, h, number, serverNow, setServerTime, tick} from './dom.js';
import {FleetView} from './fleet.js';
import {HealthView} from './health.js';
import {PoolView} from './pool.js';
import {PoolsView} from './pools.js';
import {QueueView} from './queue.js';
import {QuotaView} from './quota.js';
import {RolloutsView} from './rollouts.js';
import {Store} from './store.js';
import {follow} from './stream.js';

const VIEWS = [
  ['fleet', 'Fleet', FleetView],
  ['pools', 'Pools', PoolsView],
  ['quota', 'Quota', QuotaView],
  ['queue', 'Queue & spot', QueueView],
  ['rollouts', 'Rollouts', RolloutsView],
  ['health', 'Health', HealthView],
];

class App {
  constructor() {
    this.store = new Store();
    this.health = {watches: [], services: []};
    this.connected = false;
    this.pending = {cells: [], moved: false, kinds: new Set(), anew: true};
    this.scheduled = false;
    this.frames = 0;
    this.view = null;
    this.main = document.getElementById('main');
    this.makeTabs();
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
    for (const link of document.querySelectorAll('#tabs a')) {
      if (link.id === `tab-${tab}`)
        link.setAttribute('aria-current', 'page');
      else
        link.removeAttribute('aria-current');
    }
    this.view?.leave?.();
    this.main.className = `view-${name === 'pool' ? 'pool' : known[0]}`;
    this.view = new View(this, decodeURIComponent(argument ?? ''));
    this.main.replaceChildren(this.view.element);
    document.title = `${this.view.title} · Muster`;
    this.touch({anew: true});
  }

  begin(data) {
    this.store.reset(data);
    this.touch({anew: true});
  }

  frame(data) {
    const changes = this.store.apply(data);
    ++this.frames;
    this.touch(changes);
  }

  beat(data) {
    setServerTime(data.now);
    this.health = data.health;
    this.setConnected(true);
    this.touch({kinds: new Set(['health'])});
  }

  // Changes wait for the next picture, together.
  touch({cells = [], moved = false, kinds = new Set(), anew = false}) {
    const pending = this.pending;
    if (pending.cells.length === 0)
      pending.cells = cells;
    else
      for (const index of cells) pending.cells.push(index);
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
    this.pending = {cells: [], moved: false, kinds: new Set(), anew: false};
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

  // The connection above, the time below. The line below is where a slider over the fleet's past
  // goes once there is one to ask for.
  drawFoot() {
    const broken = this.health.watches.filter((watch) => !watch.live);
    const state = !this.connected ? 'lost' :
        !this.store.caughtUp      ? 'connecting' :
        broken.length > 0         ? 'stale' :
                                    'live';
    const text = {
      lost: 'no connection',
      connecting: 'loading',
      stale: `no news of ${broken.map((watch) => watch.service).join(', ')}`,
      live: 'live'
    }[state];
    const connection = document.getElementById('connection');
    if (connection.dataset.state !== state || connection.textContent !== text) {
      connection.dataset.state = state;
      connection.textContent = text;
    }
    const line =
        `${number(this.store.machines)} machines, ${number(this.store.documents.pool.size)} pools`;
    const foot = document.getElementById('time');
    if (!foot.firstChild)
      foot.append(
          h('span', {class: 'now'}), h('span', {class: 'track'}), h('span', {class: 'sum'}));
    foot.children[0].textContent =
        state === 'lost' ? `as of the last news` : `Now ${clockTime(serverNow())}`;
    foot.children[2].textContent = line;
  }
}

// For the console, and for tests.
globalThis.muster = new App();
