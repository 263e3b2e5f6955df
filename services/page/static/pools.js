// All pools as a table.

import {atMostEvery, h, keep, number} from './dom.js';
import {poolChips, poolLink, stackedBar} from './parts.js';
import {shortPool} from './store.js';

const MOST = 400;
const DRAW_EVERY = 400;

export class PoolsView {
  constructor(app) {
    this.app = app;
    this.title = 'Pools';
    this.drawSoon = atMostEvery(DRAW_EVERY, () => this.draw());
    this.filter = h('input', {
      type: 'search',
      placeholder: 'Pool, zone, type or condition',
      'aria-label': 'Show only pools with',
      on: {input: () => this.draw()}
    });
    this.troubled = h('input', {type: 'checkbox', id: 'troubled', on: {change: () => this.draw()}});
    this.sum = h('p', {class: 'muted'});
    this.rows = h('tbody');
    this.element = h(
        'div', {class: 'page'},
        h('div', {class: 'bar'}, this.filter,
          h('label', {}, this.troubled, ' only those that are not where they should be'), this.sum),
        h('table', {class: 'wide'},
          h('thead', {},
            h('tr', {},
              ['Pool', 'Zone', 'Instance type', 'Class', 'Nodes', '', 'Condition'].map(
                  (name) => h('th', {scope: 'col'}, name)))),
          this.rows));
  }

  update({kinds, anew}) {
    if (anew || kinds.has('pool')) this.drawSoon(anew && 'once');
  }

  draw() {
    const text = this.filter.value.trim().toLowerCase();
    const all = [...this.app.store.documents.pool].sort(
        (a, b) => (shortPool(a[0]) < shortPool(b[0]) ? -1 : 1));
    const some = all.filter(([name, pool]) => {
      const words = poolChips(pool).map((one) => one.textContent).join(' ');
      if (this.troubled.checked && words.includes('Healthy')) return false;
      return text === '' ||
          `${name} ${pool.zone} ${pool.type} ${pool.class} ${words}`.toLowerCase().includes(text);
    });
    this.sum.textContent = some.length > MOST ? `the first ${MOST} of ${number(some.length)}` :
                                                `${number(some.length)} of ${number(all.length)}`;
    keep(
        this.rows,
        some.slice(0, MOST).map(
            ([name, pool]) =>
                ({key: name, print: JSON.stringify(pool), make: () => row(name, pool)})));
  }
}

function row(name, pool) {
  const cell = (...children) => h('td', {}, ...children);
  return h(
      'tr', {'data-pool': name},
      cell(
          poolLink(name),
          pool.description ? h('div', {class: 'muted small'}, pool.description) : null),
      cell(pool.zone), cell(h('code', {}, pool.type)), cell(pool.class),
      cell(
          `${number(pool.current)} of ${number(pool.target)}`,
          pool.autoscaling ? h('span', {class: 'muted small'}, ` auto ${pool.min}–${pool.max}`) :
                             null),
      cell(poolBar(pool)), cell(h('div', {class: 'chips'}, poolChips(pool))));
}

export function poolBar(pool) {
  const whole = Math.max(pool.target, pool.current + pool.progress + pool.queued);
  return stackedBar(
      [['current', pool.current], ['progress', pool.progress], ['queued', pool.queued]], whole,
      `${pool.current} current, ${pool.progress} in progress, ${pool.queued} queued, target ${
          pool.target}`);
}
