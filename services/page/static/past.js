// The slider over time: the fleet as it was, or as it is.

import {clockTime, dayClockTime, duration, h, liveNow, zoneName} from './dom.js';

// How long a position must stand before it is asked for, in milliseconds.
const REST = 250;
// How often the end of the slider follows the time, in milliseconds.
const STEP = 1000;

// Calls `ask` with the last value wanted, once that has stood for `rest` milliseconds; never twice at the same time. Answers for a value
// that is no longer wanted are dropped.
export class Settled {
  constructor({ask, told, failed, rest = REST}) {
    Object.assign(this, {ask, told, failed, rest});
    this.wanted = null;
    this.asking = false;
    this.timer = 0;
  }

  // null: nothing is wanted.
  want(value) {
    this.wanted = value;
    clearTimeout(this.timer);
    this.timer = value === null ? 0 : setTimeout(() => this.rested(), this.rest);
  }

  rested() {
    this.timer = 0;
    if (!this.asking) this.askNow();
  }

  async askNow() {
    const value = this.wanted;
    this.asking = true;
    let tell = null;
    try {
      const answer = await this.ask(value);
      tell = () => this.told(answer);
    } catch (error) {
      tell = () => this.failed(error.message, error.oldest);
    }
    this.asking = false;
    if (this.wanted === value) return tell();
    if (this.wanted !== null && !this.timer) this.askNow();
  }
}

// `ask(at)`, `show(answer)`, `showNow()`.
export class PastBar {
  constructor(element, {ask, show, showNow}) {
    this.showNow = showNow;
    this.failure = '';
    this.shown = null;  // milliseconds; null: now
    this.tells = -Infinity;  // from when on, as far as refusals have said
    this.settled = new Settled({
      ask,
      told: (answer) => {
        this.shown = answer.at;
        show(answer);
      },
      // Go back to the present: what is shown must not pass for the moment that was asked for.
      failed: (message, oldest) => {
        this.tells = Math.max(this.tells, oldest ?? -Infinity);
        this.toNow(message);
      }
    });
    this.sum = h('span', {class: 'sum'});
    this.slider = h('input', {
      type: 'range',
      id: 'moment',
      step: 'any',
      disabled: true,
      'aria-label': 'When: from the oldest that is kept to now',
      on: {input: () => this.moved()}
    });
    this.when = h('span', {class: 'now', role: 'status', id: 'when'});
    this.back =
        h('button', {type: 'button', class: 'quiet', id: 'to-now', on: {click: () => this.toNow()}},
          'Now');
    element.append(this.sum, this.slider, this.when, this.back);
  }

  moved() {
    const at = Math.round(this.slider.valueAsNumber);
    if (at >= Math.floor(Number(this.slider.max))) return this.toNow();
    this.failure = '';
    this.settled.want(at);
    this.drawWhen();
  }

  toNow(failure = '') {
    this.failure = failure;
    this.shown = null;
    this.settled.want(null);
    this.slider.value = this.slider.max;
    this.showNow();
    this.drawWhen();
  }

  // `now`: null without a connection; `oldest`: undefined while it is not known.
  draw({now, oldest, sum}) {
    this.sum.textContent = sum;
    this.connected = now !== null;
    this.slider.disabled = oldest === undefined || now === null;
    if (!this.slider.disabled) {
      // A range input clamps its value to its bounds, so these must contain the wanted value.
      const wanted = this.settled.wanted;
      const from = Math.min(now, Math.max(oldest, this.tells));
      if (now - this.slider.max >= STEP) this.slider.max = now;
      this.slider.min = Math.min(from, wanted ?? now);
      this.slider.value = wanted ?? this.slider.max;
      this.slider.title = `From ${dayClockTime(from)} on`;
    } else {
      this.slider.title = 'How far back the services can tell is not known';
    }
    this.drawWhen();
  }

  drawWhen() {
    const at = this.settled.wanted;
    this.back.hidden = at === null;
    this.slider.setAttribute('aria-valuetext', at === null ? 'now' : dayClockTime(at));
    const now = liveNow();
    let text = this.connected ? `Now ${clockTime(now)} ${zoneName(now)}` : 'as of the last news';
    if (at !== null) {
      text = `${dayClockTime(at)} ${zoneName(at)}, ${duration(now - at)} ago`;
      if (at !== this.shown) text += ' …';
    } else if (this.failure) {
      text = `${this.failure} Shown is what is now.`;
    }
    if (this.when.textContent !== text) this.when.textContent = text;
  }
}
