// What organizations may hold, hold, and are refused.

import {atMostEvery, dayTime, h, keep, number, serverNow, ticking} from './dom.js';
import {chip, empty, poolLink} from './parts.js';
import {organizationOf} from './store.js';

// How much of the past and future an override's line shows at least, in milliseconds.
const DAY = 24 * 3600 * 1000;
const DRAW_EVERY = 400;

export class QuotaView {
  constructor(app) {
    this.app = app;
    this.title = 'Quota';
    this.drawSoon = atMostEvery(DRAW_EVERY, () => this.draw());
    this.list = h('div', {class: 'quotas'});
    this.filter = h('input', {
      type: 'search',
      placeholder: 'Organization, zone or type',
      'aria-label': 'Show only quotas with',
      on: {input: () => this.draw()}
    });
    this.element =
        h('div', {class: 'page'},
          h('div', {class: 'bar'}, this.filter,
            h('p', {class: 'key'}, h('i', {class: 'mark held'}), 'held',
              h('i', {class: 'mark refused'}), 'refused', h('i', {class: 'mark limit'}),
              'limit in force', h('i', {class: 'mark base'}), 'limit without override')),
          this.list);
  }

  update({kinds, anew}) {
    if (anew || kinds.has('quota') || kinds.has('pool')) this.drawSoon(anew && 'once');
  }

  second() {
    // Windows begin and end with time, without news.
    this.drawSoon();
  }

  draw() {
    const text = this.filter.value.trim().toLowerCase();
    const {store} = this.app;
    const groups = new Map();
    const refusals = store.refusals();
    const quotas = new Map(store.documents.quota);
    for (const name of refusals.keys())
      if (!quotas.has(name)) quotas.set(name, noQuota(name));
    for (const [name, quota] of quotas) {
      if (text && !name.toLowerCase().includes(text)) continue;
      const organization = quota.organization ?? '';
      if (!groups.has(organization)) groups.set(organization, []);
      groups.get(organization).push({name, quota, refused: refusals.get(name) ?? []});
    }
    const items = [...groups].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([organization, rows]) => {
      rows.sort((a, b) => (a.name < b.name ? -1 : 1));
      const inForce = rows.map(({quota}) => quota.overrides.findIndex(isInForce));
      return {
        key: organization,
        print: JSON.stringify([rows, inForce, this.app.moment]),
        make: () =>
            h('section', {class: 'panel', 'data-organization': organization},
              h('h2', {}, organization), h('div', {class: 'quota-rows'}, rows.map(quotaRow)))
      };
    });
    if (items.length === 0)
      items.push({
        key: 'none',
        print: text,
        make: () => empty(text ? 'No such quota.' : 'No organization has a quota yet.')
      });
    keep(this.list, items);
    this.movePresent();
  }

  movePresent() {
    for (const mark of this.list.querySelectorAll('.present')) {
      const {first, last} = mark.dataset;
      mark.style.left = `${Math.min(100, (100 * (serverNow() - first)) / (last - first))}%`;
    }
  }
}

// They do not overlap.
function isInForce({from, until}) {
  const now = serverNow();
  return from <= now && now < until;
}

// Stands in for the document, which does not exist, of a quota that is not set and of which nothing is held.
function noQuota(name) {
  const [zone, type, computeClass] = name.split('/')[3].split('~');
  return {
    organization: organizationOf(name),
    zone,
    type,
    class: computeClass,
    set: false,
    held: 0,
    limit: 0,
    inForce: 0,
    overrides: []
  };
}

function quotaRow({name, quota, refused}) {
  const asked = refused.reduce((sum, one) => sum + one.nodes, 0);
  const whole = Math.max(1, quota.limit, quota.inForce, quota.held + asked);
  const part = (value) => `${(100 * value) / whole}%`;
  const over = quota.held > quota.inForce;
  const words = !quota.set ? 'no quota' : `${number(quota.held)} of ${number(quota.inForce)}`;
  return h(
      'div', {class: 'quota', 'data-quota': name},
      h('div', {class: 'what'}, h('b', {}, quota.zone ?? ''), h('code', {}, quota.type ?? name),
        quota.class === 'spot' ? chip('plain', 'spot') : null),
      h('div', {
        class: `meter ${over ? 'over' : ''}`,
        role: 'img',
        'aria-label': `${words} Nodes held${asked ? `, ${asked} refused` : ''}`
      },
        h('i', {class: 'held', style: {width: part(quota.held)}}),
        h('i', {class: 'refused', style: {left: part(quota.held), width: part(asked)}}),
        quota.set ? h('i', {class: 'limit', style: {left: part(quota.inForce)}}) : null,
        quota.set && quota.limit !== quota.inForce ?
            h('i', {class: 'base', style: {left: part(quota.limit)}}) :
            null),
      h('div', {class: 'figures'}, h('b', {}, words), ' held',
        asked ? h('span', {class: 'refusal'}, chip('ill', `${number(asked)} refused`)) : null,
        refused.length > 0 ? h('span', {class: 'small muted'}, ' ',
                               refused.slice(0, 3).flatMap((one) => [poolLink(one.name), ' ']),
                               refused.length > 3 ? `and ${refused.length - 3} more` : '') :
                                                    null,
        over ? chip('ill', 'over its limit') : null),
      quota.overrides.length > 0 ? overrideLine(quota) : null);
}

// The windows of other limits, on a line of time with now on it.
function overrideLine(quota) {
  const now = serverNow();
  const first = Math.min(now - DAY / 8, ...quota.overrides.map((one) => one.from));
  const last = Math.max(now + DAY / 2, ...quota.overrides.map((one) => one.until));
  const width = (from, until) => `${(100 * (until - from)) / (last - first)}%`;
  return h(
      'div', {class: 'overrides'},
      h('div', {class: 'line'},
        quota.overrides.map(
            (one) => h('i', {
              class: isInForce(one) ? 'window now' : 'window',
              style: {left: width(first, one.from), width: width(one.from, one.until)},
              title: `${dayTime(one.from)} to ${dayTime(one.until)}`
            })),
        h('i', {class: 'present', 'data-first': first, 'data-last': last, title: 'now'})),
      h('ul', {},
        quota.overrides.map(
            (one) =>
                h('li', {},
                  isInForce(one) ?
                      [
                        chip('waits', `limit ${number(one.limit)} in force`), ' for another ',
                        ticking('left', one.until)
                      ] :
                      [
                        `limit ${number(one.limit)} in `, ticking('left', one.from),
                        `, from ${dayTime(one.from)} to ${dayTime(one.until)}`
                      ],
                  one.reason ? h('span', {class: 'muted'}, ` “${one.reason}”`) : null))));
}
