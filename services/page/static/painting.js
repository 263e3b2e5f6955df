// The colour of a cell, by state or by profile, and which cells are dimmed.

import {NO_PROFILE, NOT_BOOTED, profileColour, stateColour, STATES, theme} from './colours.js';

export class Painting {
  constructor(store) {
    this.store = store;
    this.mode = 'state';
    this.highlight = null;  // a test of cells; null: none stands back
    this.highlightPool = 0;
    this.profileOrder = new Map();
    this.refresh();
  }

  // Paints from this store from now on.
  show(store) {
    this.store = store;
    this.resets = -1;
    this.refresh();
  }

  // The system's colour scheme changed, or the store began anew.
  refresh() {
    if (this.resets !== this.store.resets) {
      // Its words have other numbers now.
      this.resets = this.store.resets;
      this.profileOrder.clear();
      this.highlight = null;
      this.highlightPool = 0;
    }
    this.scheme = theme();
    this.stateColours = this.store.states.map((name) => stateColour(name, this.scheme));
    this.stateSigns = this.store.states.map((name) => (STATES[name] ?? STATES.none).sign);
  }

  // Numbers profiles 0, 1, ... as they are first seen, so that each keeps its colour.
  orderOf(profile) {
    let order = this.profileOrder.get(profile);
    if (order === undefined) {
      order = this.profileOrder.size;
      this.profileOrder.set(profile, order);
    }
    return order;
  }

  profileColour(profile) {
    return profileColour(this.orderOf(profile), this.scheme);
  }

  profileSign(profile) {
    return String.fromCharCode(65 + (this.orderOf(profile) % 26));
  }

  colourOf(index) {
    const {store} = this;
    if (this.mode === 'state') return this.stateColours[store.state[index]];
    const profile = store.profile[index];
    if (profile !== 0) return this.profileColour(profile);
    return store.pool[index] === 0 ? NO_PROFILE[this.scheme] : NOT_BOOTED[this.scheme];
  }

  signOf(index) {
    if (this.mode === 'state') return this.stateSigns[this.store.state[index]];
    const profile = this.store.profile[index];
    return profile === 0 ? '' : this.profileSign(profile);
  }

  dims(index) {
    return this.highlight !== null && !this.highlight(index);
  }

  dimsPool(pool) {
    return this.highlightPool !== 0 && this.highlightPool !== pool;
  }
}
