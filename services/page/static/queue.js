// Who waits for machines, in which order, and the spot machines that are on their way to them.

import {atMostEvery, duration, h, keep, number, serverNow, ticking} from './dom.js';
import {chip, empty, poolLink} from './parts.js';
import {inOrder} from './queue_order.js';
import {ask, Asker} from './stream.js';

const MOST = 200;
const DRAW_EVERY = 400;

export class QueueView {
  constructor(app) {
    this.app = app;
    this.title = 'Queue & spot';
    this.drawSoon = atMostEvery(DRAW_EVERY, () => this.draw());
    this.clocks = h('div', {class: 'clocks'});
    this.queues = h('div', {class: 'queues'});
    this.clockSum = h('span', {class: 'muted'});
    this.open = new Map();  // pool uid: what capacity explained, and to which question
    this.questions = 0;
    this.asker = new Asker({
      ask: () => this.askAgain(),
      may: () => this.open.size > 0 && this.app.moment === null && this.app.store.caughtUp
    });
    this.element =
        h('div', {class: 'page'},
          h('section', {class: 'panel'}, h('h2', {}, 'Spot clocks ', this.clockSum), this.clocks),
          h('section', {class: 'panel'}, h('h2', {}, 'Queue'), this.queues));
  }

  update({kinds, anew}) {
    if (anew || ['claim', 'clock', 'pool'].some((kind) => kinds.has(kind))) {
      this.asker.changed();
      this.drawSoon(anew && 'once');
    }
    this.asker.look();
  }

  second() {
    // Phases and bars change with time, without news.
    this.drawClocks();
    this.asker.look();
  }

  leave() {
    this.open.clear();
  }

  draw() {
    this.drawClocks();
    const {store} = this.app;
    const groups = new Map();
    for (const [uid, claim] of store.documents.claim) {
      const key = `${claim.zone} ${claim.type} ${claim.class}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push({uid, claim});
    }
    const coming = new Map();
    for (const clock of store.documents.clock.values())
      coming.set(clock.for, (coming.get(clock.for) ?? 0) + 1);
    const items = [...groups].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([key, claims]) => {
      const shown = inOrder(claims).slice(0, MOST).map(
          ({uid, claim}) => ({
            uid,
            claim,
            coming: coming.get(uid) ?? 0,
            explained: this.open.get(uid)?.explained
          }));
      return {
        key,
        print: JSON.stringify(shown) + claims.length,
        make: () => this.group(claims, shown)
      };
    });
    if (items.length === 0) {
      const text = this.app.moment === null ? 'Nobody waits.' : 'Told of now alone.';
      items.push({key: 'none', print: text, make: () => empty(text)});
    }
    keep(this.queues, items);
  }

  group(claims, shown) {
    const {zone, type, class: computeClass} = claims[0].claim;
    const nodes = claims.reduce((sum, {claim}) => sum + claim.outstanding, 0);
    return h(
        'div', {class: 'queue', 'data-queue': `${zone} ${type} ${computeClass}`},
        h('h3', {}, zone, ' ', h('code', {}, type), ' ',
          computeClass === 'spot' ? chip('plain', 'spot') : null,
          h('span', {class: 'muted'},
            ` ${number(nodes)} Nodes for ${number(claims.length)} ${
                claims.length === 1 ? 'pool' : 'pools'}`)),
        h('ol', {}, shown.map((one, i) => this.entry(one, i))),
        claims.length > shown.length ?
            h('p', {class: 'muted'}, `and ${number(claims.length - shown.length)} more`) :
            null);
  }

  entry({uid, claim, coming, explained}, i) {
    const name = claim.pool || this.app.store.poolOfUid(uid);
    return h(
        'li', {'data-pool': name}, h('span', {class: 'place'}, String(i + 1)),
        h('span', {class: 'who'}, poolLink(name)),
        h('span', {}, h('b', {}, number(claim.outstanding)), ` of ${number(claim.nodes)} Nodes`),
        h('span', {class: 'muted'}, 'waits for ', ticking('ago', claim.since)),
        h('span', {class: 'chips'},
          claim.priority !== 0 ? chip('plain', `priority ${claim.priority}`) : null,
          claim.gang ? chip('plain', 'gang') : null,
          coming > 0 ? chip('waits', `${number(coming)} on the way from spot`) : null),
        h('button', {
          type: 'button',
          class: 'quiet',
          'aria-expanded': String(Boolean(explained)),
          on: {click: () => this.explain(uid)}
        },
          explained ? 'Less' : 'Why'),
        explained ? explanation(explained) : null);
  }

  async explain(uid) {
    if (this.open.delete(uid)) return this.draw();
    this.open.set(uid, {question: 0, explained: {loading: true}});
    this.draw();
    await this.ask(uid);
    this.draw();
  }

  async ask(uid) {
    const question = ++this.questions;
    let explained;
    try {
      explained = await ask('/api/claim', {uid});
    } catch (error) {
      explained = {error: error.message};
    }
    // Unless the row was closed meanwhile, or a later question was answered first.
    if (this.open.get(uid)?.question < question) this.open.set(uid, {question, explained});
  }

  // Asks about all open rows, one after the other; not about claims that no longer wait.
  async askAgain() {
    for (const uid of [...this.open.keys()]) {
      if (!this.app.store.documents.claim.has(uid)) this.open.delete(uid);
      if (this.open.has(uid)) await this.ask(uid);
    }
    if (this.open.size > 0) this.draw();
  }

  drawClocks() {
    const {store} = this.app;
    const now = serverNow();
    const all = [...store.documents.clock].sort(
        (a, b) => a[1].start - b[1].start || (a[0] < b[0] ? -1 : 1));
    this.clockSum.textContent =
        all.length === 0 ? '' : `${number(all.length)} machines are being taken back`;
    const items = all.slice(0, MOST).map(([machine, clock]) => {
      const drains = clock.drain !== 0 || now >= clock.start + store.notice;
      return {
        key: machine,
            print: `${JSON.stringify(clock)} ${drains} ${store.poolOfUid(clock.pool)} ${
                store.poolOfUid(clock.for)}`,
            make: () => this.clockRow(machine, clock, drains)
      };
    });
    if (items.length === 0)
      items.push(
          {key: 'none', print: '', make: () => empty('No spot machine is being taken back.')});
    keep(this.clocks, items);
    for (const hand of this.clocks.querySelectorAll('.hand')) {
      hand.style.left = `${Math.min(100, (100 * (now - Number(hand.dataset.start))) / store.end)}%`;
    }
  }

  clockRow(machine, clock, drains) {
    const {store} = this.app;
    const notice = `${(100 * store.notice) / store.end}%`;
    const drainTime = clock.drain || clock.start + store.notice;
    const end = clock.deadline || clock.start + store.end;
    return h(
        'div', {class: 'clock', 'data-machine': machine, 'data-phase': drains ? 'drain' : 'notice'},
        h('b', {class: 'machine'}, machine),
        h('span', {class: 'ways'}, poolLink(store.poolOfUid(clock.pool)),
          h('span', {'aria-label': 'gives it to'}, ' → '),
          clock.for ? poolLink(store.poolOfUid(clock.for)) :
                      h('span', {class: 'muted'}, 'nobody yet')),
        h('div', {
          class: 'dial',
          title:
              `${duration(store.notice)} of notice, gone after ${duration(store.end)} at the latest`
        },
          h('i', {class: 'notice', style: {width: notice}}, 'notice'),
          h('i', {class: 'drain', style: {left: notice}}, 'drain'),
          h('i', {class: 'hand', 'data-start': clock.start})),
        drains ? h('span', {}, chip('ill', 'draining'), ' gone in ', ticking('left', end)) :
                 h('span', {}, chip('waits', 'warned'), ' drains in ', ticking('left', drainTime)));
  }
}

const seconds = (text) => parseFloat(text) * 1000;

function explanation(explained) {
  if (explained.loading) return h('div', {class: 'why muted'}, 'asking …');
  if (explained.error) return h('div', {class: 'why'}, chip('ill', explained.error));
  const queue = explained.claim?.queue;
  const lines = [];
  if (queue) {
    const wait = queue.wait ?
        `${duration(seconds(queue.wait.earliest))} to ${duration(seconds(queue.wait.latest))}` :
        'unknown';
    lines.push(
        h('p', {}, `Place ${queue.place}, ${number(queue.nodesAhead)} Nodes ahead; wait ${wait}.`));
  }
  for (const obstacle of explained.obstacles ?? [])
    lines.push(
        h('p', {}, h('code', {}, obstacle.code.replace('CODE_', '')), ' ', obstacle.message));
  return h('div', {class: 'why'}, lines);
}
