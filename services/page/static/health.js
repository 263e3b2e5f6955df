// The services that this page hears of, their lanes, and who leads.

import {h, keep, number, serverNow, ticking} from './dom.js';
import {chip, empty} from './parts.js';

const NAMES = ['lifecycle', 'capacity', 'quota', 'configuration'];

export class HealthView {
  constructor(app) {
    this.app = app;
    this.title = 'Health';
    this.cards = h('div', {class: 'cards'});
    this.element = h('div', {class: 'page'}, this.cards);
    this.before = new Map();  // service: commands, and when
    this.rates = new Map();
  }

  update({kinds, anew}) {
    if (anew || kinds.has('health')) this.draw();
  }

  draw() {
    if (this.app.moment !== null) {
      const text = 'Told of now alone.';
      return keep(this.cards, [{key: 'then', print: text, make: () => empty(text)}]);
    }
    const {watches, services} = this.app.health;
    const now = serverNow();
    for (const {service, commands} of services) {
      const before = this.before.get(service);
      if (before && now - before.now < 500) continue;
      if (before)
        this.rates.set(
            service, Math.max(0, (1000 * (commands - before.commands)) / (now - before.now)));
      this.before.set(service, {commands, now});
    }
    keep(this.cards, NAMES.map((name) => {
      const watch = watches.find((one) => one.service === name);
      const lane = services.find((one) => one.service === name);
      const rate = this.rates.get(name);
      return {
        key: name,
        print: JSON.stringify([watch, {...lane, oldest: 0}, rate]),
        make: () => card(name, watch, lane, rate)
      };
    }));
  }
}

function leader(lane) {
  if (lane.leaderless) return chip('ill', 'none');
  return lane.epoch > 0 ? chip('well', `this one, epoch ${lane.epoch}`) :
                          chip('plain', 'another replica');
}

function card(name, watch, lane, rate) {
  const row = (label, value, title) => [h('dt', {title}, label), h('dd', {}, value)];
  const rows = [];
  if (watch) {
    rows.push(...row(
        'News',
        [
          watch.live ? chip('well', 'live') : chip('ill', 'none'), ' for ',
          ticking('ago', watch.since)
        ],
        'Whether changes of this service reach the page'));
    if (watch.error) rows.push(...row('Because', watch.error));
  } else {
    rows.push(...row('News', chip('plain', 'no address'), 'Neither runs here nor has an address'));
  }
  if (lane) {
    rows.push(...row('Database', lane.ready ? chip('well', 'ready') : chip('ill', 'out of reach')));
    if (lane.epoch !== undefined)
      rows.push(...row('Leader', leader(lane), 'Which replica reconciles'));
    rows.push(
        ...row('Revision', number(lane.revision)), ...row('Commands waiting', number(lane.queued)),
        ...row('Commands', rate === undefined ? '…' : `${number(Math.round(rate))}/s`),
        ...row(
            'Failed batches', lane.failedBatches ? chip('ill', number(lane.failedBatches)) : '0'),
        ...row('Watches', number(lane.watchers)));
  } else if (watch) {
    rows.push(...row('Lane', h('span', {class: 'muted'}, 'runs elsewhere')));
  }
  return h(
      'section', {class: 'panel card', 'data-service': name}, h('h2', {}, name), h('dl', {}, rows));
}
