// Every pool that is being reconfigured, or was lately.

import {atMostEvery, h, keep, serverNow} from './dom.js';
import {profileFacts} from './legend.js';
import {empty, poolLink} from './parts.js';
import {racksOf, rolloutElement} from './rollout.js';

const LATELY = 15 * 60 * 1000;
const MOST = 30;
const DRAW_EVERY = 500;

export class RolloutsView {
  constructor(app) {
    this.app = app;
    this.title = 'Rollouts';
    this.list = h('div', {class: 'rollouts'});
    this.element = h('div', {class: 'page'}, this.list);
    this.drawSoon = atMostEvery(DRAW_EVERY, () => this.draw());
  }

  update({cells, kinds, anew}) {
    if (anew || cells.size > 0 || kinds.has('pool')) this.drawSoon(anew && 'once');
  }

  second() {
    // Rollouts that ended disappear after a while, without news.
    this.drawSoon();
  }

  draw() {
    const {store} = this.app;
    const now = serverNow();
    const pools = [...store.documents.pool].filter(
        ([, {rollout}]) => rollout &&
            (['RUNNING', 'PAUSED', 'HALTED'].includes(rollout.state) ||
             now - rollout.since < LATELY));
    pools.sort((a, b) => b[1].rollout.begun - a[1].rollout.begun);
    const items = pools.slice(0, MOST).map(([name, pool]) => {
      const racks = racksOf(store, name, pool);
      const facts = profileFacts(store, pool.profile);
      return {
        key: name,
        print: JSON.stringify([pool.rollout, pool.profile, pool.maxUnavailable, facts, racks]),
        make: () =>
            h('section', {class: 'panel', 'data-pool': name},
              h('h2', {}, poolLink(name), h('span', {class: 'muted'}, ` to ${pool.profile}`),
                h('span', {class: 'muted small'}, ` ${facts}`)),
              rolloutElement(pool, racks))
      };
    });
    if (items.length === 0)
      items.push({key: 'none', print: '', make: () => empty('No pool is being reconfigured.')});
    keep(this.list, items);
  }
}
