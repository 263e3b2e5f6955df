// One block of the map (a zone's machines of a type, or those of a pool) on a canvas. All of it is
// painted when it is laid out; from then on only cells that changed.

import {outlineColour, surfaces, theme} from './colours.js';
import {hit, measure, rackAt, slotAt} from './layout.js';

const SIGN_PITCH = 14;

export class BlockView {
  // `paint`: a Painting. `block`: of makeBlocks.
  constructor(canvas, block, paint) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', {alpha: true});
    this.block = block;
    this.paint = paint;
    this.placeOf = new Map();  // cell: rack and slot, as one number
    this.cells = new Int32Array(block.count);
    this.places = new Int32Array(block.count);
    let next = 0;
    block.racks.forEach((rack, number) => {
      rack.places.forEach((index, slot) => {
        if (index < 0) return;
        this.cells[next] = index;
        this.places[next++] = number * block.slots + slot;
        this.placeOf.set(index, number * block.slots + slot);
      });
    });
  }

  layOut(pitch, width) {
    this.size = measure(this.block, pitch, width);
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.ratio = ratio;
    this.canvas.width = Math.ceil(this.size.width * ratio);
    this.canvas.height = Math.ceil(this.size.height * ratio);
    this.canvas.style.width = `${this.size.width}px`;
    this.canvas.style.height = `${this.size.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintAll();
  }

  paintAll() {
    const {context, size, block} = this;
    this.scheme = theme();
    this.surface = surfaces(this.scheme);
    context.clearRect(0, 0, size.width, size.height);
    context.fillStyle = this.surface.rack;
    for (let number = 0; number < block.racks.length; ++number) {
      const {x, y} = rackAt(size, number);
      this.box(x, y, size.rackWidth, size.rackHeight, size.pad ? 3 : 0);
    }
    if (size.label) this.paintLabels();
    // Colour by colour: by far the fastest way to paint many cells.
    const byColour = new Map();
    for (let i = 0; i < this.cells.length; ++i) {
      if (this.paint.store.state[this.cells[i]] < 0) continue;
      const colour = this.paint.colourOf(this.cells[i]);
      let cells = byColour.get(colour);
      if (!cells) byColour.set(colour, cells = []);
      cells.push(this.cells[i], this.places[i]);
    }
    for (const [colour, cells] of byColour) {
      for (let i = 0; i < cells.length; i += 2) this.fillCell(cells[i], cells[i + 1], colour);
    }
    for (let i = 0; i < this.cells.length; ++i) this.trimCell(this.cells[i], this.places[i]);
  }

  paintLabels() {
    const {context, size, block} = this;
    context.fillStyle = this.surface.label;
    context.font = '10px "DejaVu Sans", system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'top';
    block.racks.forEach((rack, number) => {
      const {x, y} = rackAt(size, number);
      const room = size.rackWidth + size.gap - 2;
      let text = rack.name.slice(block.shared) || '–';
      // Cut at the beginning: it is the end of the name that distinguishes racks.
      while (text.length > 2 && context.measureText(text).width > room) text = text.slice(1);
      context.fillText(text, x + size.rackWidth / 2, y + size.rackHeight + 2);
    });
  }

  box(x, y, width, height, radius) {
    if (radius === 0) return this.context.fillRect(x, y, width, height);
    this.context.beginPath();
    this.context.roundRect(x, y, width, height, radius);
    this.context.fill();
  }

  at(place) {
    return slotAt(
        this.block, this.size, Math.floor(place / this.block.slots), place % this.block.slots);
  }

  fillCell(index, place, colour) {
    const {context, size} = this;
    const {x, y} = this.at(place);
    const inset = size.pitch >= 10 ? 2 : size.pitch >= 4 ? 1 : 0;
    context.globalAlpha = this.paint.dims(index) ? 0.16 : 1;
    context.fillStyle = colour;
    if (size.pitch >= 10) {
      this.box(x + inset, y + inset, size.pitch - 2 * inset, size.pitch - 2 * inset, 2);
    } else {
      context.fillRect(x + inset, y, size.pitch - inset, size.pitch - inset);
    }
    context.globalAlpha = 1;
  }

  // Outline and sign.
  trimCell(index, place) {
    const {context, size, paint} = this;
    const {store} = paint;
    if (store.state[index] < 0) return;
    const pool = store.pool[index];
    const {x, y} = this.at(place);
    if (pool !== 0) this.outline(pool, place, x, y);
    if (size.pitch < SIGN_PITCH) return;
    const sign = paint.signOf(index);
    if (sign !== '' && !paint.dims(index)) {
      context.fillStyle = this.surface.ink;
      context.font = `bold ${Math.round(size.pitch * 0.58)}px "DejaVu Sans", system-ui, sans-serif`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillText(sign, x + size.pitch / 2, y + size.pitch / 2 + 0.5);
    }
    if (store.flags[index] & 1) this.corner(x, y);
  }

  // Spot machines have a cut corner.
  corner(x, y) {
    const {context, size} = this;
    const length = Math.max(4, size.pitch / 4);
    context.fillStyle = this.surface.rack;
    context.beginPath();
    context.moveTo(x + size.pitch - 2, y + 2);
    context.lineTo(x + size.pitch - 2 - length, y + 2);
    context.lineTo(x + size.pitch - 2, y + 2 + length);
    context.fill();
  }

  // A line around the pool's machines of a rack: between it and its neighbours, not within it.
  outline(pool, place, x, y) {
    const {context, size, block} = this;
    const line = size.pitch >= 10 ? 1.5 : 1;
    context.globalAlpha = this.paint.dimsPool(pool) ? 0.16 : 1;
    context.fillStyle = outlineColour(pool, this.scheme);
    const slot = place % block.slots;
    const row = slot % block.rows;
    const above = row + 1 < block.rows ? place + 1 : -1;
    const below = row > 0 ? place - 1 : -1;
    if (size.pitch < 10) {
      // Lines above and below the racks, and between pools; none around cells that no pool holds.
      if (size.pitch >= 4) {
        if (this.borders(place - block.slots, pool)) context.fillRect(x, y, line, size.pitch);
        if (above < 0 || this.borders(above, pool)) context.fillRect(x, y, size.pitch, line);
        if (below < 0 || this.borders(below, pool))
          context.fillRect(x, y + size.pitch - line, size.pitch, line);
      }
      context.globalAlpha = 1;
      return;
    }
    const left = slot >= block.rows ? place - block.rows : -1;
    const right = slot + block.rows < block.slots ? place + block.rows : -1;
    if (this.poolAt(left) !== pool) context.fillRect(x, y, line, size.pitch);
    if (this.poolAt(right) !== pool) context.fillRect(x + size.pitch - line, y, line, size.pitch);
    if (this.poolAt(above) !== pool) context.fillRect(x, y, size.pitch, line);
    if (this.poolAt(below) !== pool) context.fillRect(x, y + size.pitch - line, size.pitch, line);
    context.globalAlpha = 1;
  }

  borders(place, pool) {
    const other = this.poolAt(place);
    return other !== 0 && other !== pool;
  }

  poolAt(place) {
    const index = this.indexAt(place);
    return index < 0 ? 0 : this.paint.store.pool[index];
  }

  indexAt(place) {
    if (place < 0) return -1;
    const rack = this.block.racks[Math.floor(place / this.block.slots)];
    const slot = place % this.block.slots;
    return rack && slot < rack.places.length ? rack.places[slot] : -1;
  }

  // Repaints a cell that changed; where outlines are lines also its neighbours, whose outline may change.
  paintCell(index) {
    const place = this.placeOf.get(index);
    if (place === undefined || !this.size) return false;
    this.repaint(place);
    if (this.size.pitch >= 10) {
      const {rows, slots} = this.block;
      const slot = place % slots;
      for (const step of [1, -1, rows, -rows]) {
        const near = slot + step;
        const sameColumn =
            Math.abs(step) === rows || Math.floor(near / rows) === Math.floor(slot / rows);
        if (near >= 0 && near < slots && sameColumn) this.repaint(place + step);
      }
    }
    return true;
  }

  repaint(place) {
    const {context, size} = this;
    const {x, y} = this.at(place);
    context.fillStyle = this.surface.rack;
    context.clearRect(x, y, size.pitch, size.pitch);
    context.fillRect(x, y, size.pitch, size.pitch);
    const index = this.indexAt(place);
    if (index < 0 || this.paint.store.state[index] < 0) return;
    this.fillCell(index, place, this.paint.colourOf(index));
    this.trimCell(index, place);
  }

  // A frame around the selected cell; painted over by the next repaint of it.
  mark(index) {
    const place = this.placeOf.get(index);
    if (place === undefined || !this.size) return;
    const {x, y} = this.at(place);
    this.context.strokeStyle = this.surface.select;
    this.context.lineWidth = this.size.pitch >= 10 ? 2 : 1;
    this.context.strokeRect(x + 1, y + 1, this.size.pitch - 2, this.size.pitch - 2);
  }

  // The cell at a point of the canvas; -1: none.
  cellAt(x, y) {
    const found = hit(this.block, this.size, x, y);
    return found ? this.indexAt(found.rack * this.block.slots + found.slot) : -1;
  }

  // The next cell in a direction ('ArrowLeft', ...) from a cell; itself where there is none.
  neighbour(index, key) {
    const {block} = this;
    const steps = {ArrowUp: 1, ArrowDown: -1, ArrowRight: block.slots, ArrowLeft: -block.slots};
    for (let place = this.placeOf.get(index) + steps[key];; place += steps[key]) {
      if (place < 0 || place >= block.racks.length * block.slots) return index;
      const next = this.indexAt(place);
      if (next >= 0) return next;
    }
  }
}
