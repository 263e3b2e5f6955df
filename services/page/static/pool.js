// One pool: what it should be, what it is, what keeps it from that, and who must act.

import {atMostEvery, dayTime, h, keep, number, ticking} from './dom.js';
import {chip, conditionMood, empty, poolChips} from './parts.js';
import {poolBar} from './pools.js';
import {racksOf, rolloutElement} from './rollout.js';
import {shortPool} from './store.js';
import {ask, Asker} from './stream.js';

const DRAW_EVERY = 400;

export class PoolView {
  constructor(app, name) {
    this.app = app;
    this.name = name;
    this.title = shortPool(name);
    this.asker = new Asker(
        {ask: () => this.ask(), may: () => this.app.moment === null && this.app.store.caughtUp});
    this.answer = null;
    this.failure = '';
    this.drawSoon = atMostEvery(DRAW_EVERY, () => this.draw());
    this.head = h('div');
    this.body = h('div', {class: 'pool-page'});
    this.element = h('div', {class: 'page'}, this.head, this.body);
  }

  leave() {
    this.left = true;
  }

  update({cells, kinds, anew}) {
    if (anew || kinds.has('pool')) this.asker.changed();
    if (anew || kinds.has('pool') || cells.size > 0) this.drawSoon(anew && 'once');
    this.asker.look();
  }

  second() {
    this.asker.look();
  }

  async ask() {
    try {
      this.answer = await ask('/api/pool', {name: this.name});
      this.failure = '';
    } catch (error) {
      this.failure = error.message;
    }
    if (!this.left) this.draw();
  }

  draw() {
    const {store} = this.app;
    const pool = store.documents.pool.get(this.name);
    if (!pool) {
      keep(this.head, []);
      const text = store.caughtUp ? `There is no pool ${shortPool(this.name)}.` : 'Loading …';
      return keep(this.body, [{key: 'none', print: text, make: () => empty(text)}]);
    }
    const {profile, pending, waiting, revisions, rollout} = pool;
    const racks = racksOf(store, this.name, pool);
    keep(this.head, [{key: 'head', print: JSON.stringify(pool), make: () => this.heading(pool)}]);
    const answer = this.app.moment === null ? this.answer : null;
    keep(this.body, [
      {
        key: 'obstacles',
        print: JSON.stringify([answer?.explained?.obstacles, this.failure, this.app.moment]),
        make: () => this.obstacles()
      },
      {key: 'conditions', print: JSON.stringify(pool.conditions), make: () => conditions(pool)},
      {
        key: 'rollout',
        print: JSON.stringify([rollout, profile, pool.maxUnavailable, racks]),
        make: () => panel('Racks and rollout', rolloutElement(pool, racks))
      },
      {
        key: 'configuration',
        print: JSON.stringify([profile, pending, waiting, revisions]),
        make: () => configuration(pool)
      },
      {
        key: 'events',
        print: JSON.stringify([answer?.events, this.app.moment]),
        make: () => this.app.moment === null ? events(answer?.events) : notKept('Events', 'events')
      },
    ]);
  }

  heading(pool) {
    const figure = (name, value) =>
        h('div', {class: 'figure', 'data-figure': name}, h('b', {}, number(value)),
          h('span', {}, name));
    return h(
        'section', {class: 'panel pool-head'},
        h('div', {}, h('h1', {}, shortPool(this.name)),
          h('p', {class: 'muted'}, pool.zone, ' · ', h('code', {}, pool.type), ` · ${pool.class}`,
            pool.gang ? ' · gang' : '', pool.description ? ` · ${pool.description}` : '')),
        h('div', {class: 'figures'}, figure('target', pool.target), figure('current', pool.current),
          figure('in progress', pool.progress), figure('queued', pool.queued)),
        poolBar(pool), h('div', {class: 'chips'}, poolChips(pool)));
  }

  obstacles() {
    const title = 'What keeps it, and who must act';
    if (this.app.moment !== null) return notKept(title, 'obstacles');
    const all = this.answer?.explained?.obstacles;
    let content = empty('asking …');
    if (this.failure)
      content = h('p', {}, chip('ill', this.failure));
    else if (all && all.length === 0)
      content = h('p', {}, chip('well', 'Nothing'), ' keeps it from being where it should be.');
    else if (all) {
      content = table(
          ['Reason', 'Who must act', 'About', 'Passes in', 'What is said'],
          all.map(
              (one) =>
                  [h('code', {}, one.reason),
                   chip(one.actor === 'ACTOR_NOBODY' ? 'plain' : 'ill', actor(one.actor)),
                   h('span', {class: 'small'}, lastWord(one.subject)), passes(one), one.message]));
    }
    return panel(title, content, 'obstacles');
  }
}

const panel = (title, content, id = null) =>
    h('section', {class: 'panel', id}, h('h2', {}, title), content);

const notKept = (title, id) => panel(title, empty('Told of now alone.'), id);

// `quota admin` of ACTOR_QUOTA_ADMIN.
const actor = (name) => name.replace('ACTOR_', '').replaceAll('_', ' ').toLowerCase();
const lastWord = (name) => name.slice(name.lastIndexOf('/') + 1);

function table(names, rows) {
  return h(
      'table', {class: 'wide'},
      h('thead', {}, h('tr', {}, names.map((name) => h('th', {scope: 'col'}, name)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell) => h('td', {}, cell))))));
}

function passes({earliestTime, latestTime}) {
  const left = (time) => ticking('left', Date.parse(time));
  if (!earliestTime && !latestTime) return h('span', {class: 'muted'}, 'unknown');
  if (!earliestTime) return ['at most ', left(latestTime)];
  if (!latestTime) return ['at least ', left(earliestTime)];
  return [left(earliestTime), ' to ', left(latestTime)];
}

function conditions(pool) {
  return panel(
      'Conditions',
      table(
          ['Condition', 'Status', 'Reason', 'Since', 'Message'],
          pool.conditions.map(
              (one) =>
                  [h('b', {}, one.type), chip(conditionMood(one), one.status), one.reason,
                   one.time ? ticking('ago', one.time) : '', one.message])),
      'conditions');
}

function configuration(pool) {
  const row = (kind, one) =>
      [kind, h('code', {}, one.profile), (one.summary ?? []).join(', '),
       one.nodes ? number(one.nodes) : '', one.disabled ? chip('ill', 'disabled') : ''];
  const rows = [...(pool.revisions ?? [])].reverse().slice(0, 8).map(
      (one) => row(one.profile === pool.profile ? 'active' : 'earlier', one));
  if (pool.waiting) rows.unshift(row('waiting', pool.waiting));
  if (pool.pending) rows.unshift(row('pending', pool.pending));
  return panel(
      'Configuration',
      rows.length ? table(['', 'Profile', 'What it is', 'Nodes', ''], rows) : empty('None yet.'),
      'configuration');
}

function events(all) {
  if (!all) return panel('Events', empty('asking …'), 'events');
  if (all.length === 0) return panel('Events', empty('None.'), 'events');
  return panel(
      'Events', table(['Last', '', 'Reason', 'About', 'Message'], all.slice(0, 60).map((one) => {
        const time = Date.parse(one.lastTime);
        return [
          ticking('ago', time),
          chip(
              one.type === 'Warning' ? 'ill' : 'plain',
              one.count > 1 ? `×${one.count}` : one.type.toLowerCase()),
          h('code', {}, one.reason),
          h('span', {class: 'small', title: dayTime(time)}, lastWord(one.object)), one.message
        ];
      })),
      'events');
}
