// Where machines stand on the map: zone > type > rack > slot. Pure: numbers in, numbers out.

// Slots above one another; racks with more are several columns wide.
const MAX_ROWS = 18;
const PITCHES = [3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24];
// From this pitch on racks show their names.
export const LABEL_PITCH = 16;

const byName = (a, b) => a.localeCompare(b, 'en', {numeric: true});

// The blocks of the map: one for each zone and instance type, by name, with its racks by name. A
// rack has its cells by slot; -1: none stands there.
export function makeBlocks(store, wanted = () => true) {
  const blocks = new Map();
  for (const index of store.cells()) {
    if (!wanted(index)) continue;
    const key = `${store.zone[index]} ${store.type[index]}`;
    let block = blocks.get(key);
    if (!block) {
      block = {
        zone: store.words[store.zone[index]],
        type: store.words[store.type[index]],
        byRack: new Map(),
        count: 0
      };
      blocks.set(key, block);
    }
    const rack = block.byRack.get(store.rack[index]);
    if (rack)
      rack.push(index);
    else
      block.byRack.set(store.rack[index], [index]);
    ++block.count;
  }
  const sorted = [...blocks.values()];
  sorted.sort((a, b) => byName(a.zone, b.zone) || byName(a.type, b.type));
  return sorted.map((block) => finish(store, block));
}

function finish(store, block) {
  const racks = [...block.byRack].map(([word, cells]) => ({name: store.words[word], cells}));
  racks.sort((a, b) => byName(a.name, b.name));
  let slots = 1;
  for (const rack of racks) {
    // Machines without a known place stand in columns of eight.
    if (rack.name === '') continue;
    slots = Math.max(slots, rack.cells.length);
    for (const index of rack.cells)
      if (store.slot[index] < 4 * MAX_ROWS) slots = Math.max(slots, store.slot[index] + 1);
  }
  if (racks.length === 1 && racks[0].name === '') slots = 8;
  const split = [];
  for (const rack of racks) {
    for (let first = 0; first < rack.cells.length; first += slots) {
      split.push(
          {name: rack.name, places: places(store, rack.cells.slice(first, first + slots), slots)});
    }
  }
  // A few racks alone are drawn wide rather than high.
  const across = split.length < 4 ? Math.ceil(4 / split.length) : 1;
  const rows = Math.min(Math.ceil(slots / across), MAX_ROWS);
  return {
    zone: block.zone,
    type: block.type,
    count: block.count,
    racks: split,
    slots,
    rows,
    columns: Math.ceil(slots / rows),
    shared: sharedStart(split.map((rack) => rack.name))
  };
}

// The length of the prefix that all racks' names share, up to a `-` or the like; it is not shown.
export function sharedStart(names) {
  const [first, ...others] = names;
  let length = first.length;
  for (const other of others) {
    let same = 0;
    while (same < length && other[same] === first[same]) ++same;
    length = same;
  }
  return Math.max(
      0, ...['-', '/', '.', '_'].map((mark) => first.lastIndexOf(mark, length - 1) + 1));
}

// Each cell at its slot, or at the first that is empty where two say the same.
function places(store, cells, slots) {
  const at = new Int32Array(slots).fill(-1);
  const rest = [];
  for (const index of cells) {
    const slot = store.slot[index];
    if (slot >= 0 && slot < slots && at[slot] < 0)
      at[slot] = index;
    else
      rest.push(index);
  }
  let next = 0;
  for (const index of rest) {
    while (at[next] >= 0) ++next;
    at[next] = index;
  }
  return at;
}

// The size of one block at `pitch` pixels a cell, at most `width` pixels wide.
export function measure(block, pitch, width) {
  const gap = pitch >= 10 ? Math.round(pitch / 2) : 2;
  const pad = pitch >= 10 ? 2 : 0;
  const label = pitch >= LABEL_PITCH ? 14 : 0;
  const rackWidth = block.columns * pitch + 2 * pad;
  const rackHeight = block.rows * pitch + 2 * pad;
  const perRow =
      Math.max(1, Math.min(block.racks.length, Math.floor((width + gap) / (rackWidth + gap))));
  const lines = Math.ceil(block.racks.length / perRow);
  return {
    pitch,
    gap,
    pad,
    label,
    rackWidth,
    rackHeight,
    perRow,
    lines,
    width: perRow * (rackWidth + gap) - gap,
    height: lines * (rackHeight + label + gap) - gap
  };
}

export function rackAt(size, number) {
  return {
    x: (number % size.perRow) * (size.rackWidth + size.gap),
    y: Math.floor(number / size.perRow) * (size.rackHeight + size.label + size.gap)
  };
}

// The upper left corner of a slot; slot 0 is the lowest.
export function slotAt(block, size, number, slot) {
  const rack = rackAt(size, number);
  return {
    x: rack.x + size.pad + Math.floor(slot / block.rows) * size.pitch,
    y: rack.y + size.pad + (block.rows - 1 - (slot % block.rows)) * size.pitch
  };
}

// The rack and slot at a point; null: none.
export function hit(block, size, x, y) {
  const column = Math.floor(x / (size.rackWidth + size.gap));
  const line = Math.floor(y / (size.rackHeight + size.label + size.gap));
  const number = line * size.perRow + column;
  if (x < 0 || y < 0 || column >= size.perRow || number >= block.racks.length) return null;
  const rack = rackAt(size, number);
  const inX = Math.floor((x - rack.x - size.pad) / size.pitch);
  const inY = Math.floor((y - rack.y - size.pad) / size.pitch);
  if (inX < 0 || inX >= block.columns || inY < 0 || inY >= block.rows) return null;
  const slot = inX * block.rows + (block.rows - 1 - inY);
  return slot < block.slots ? {rack: number, slot} : null;
}

// The largest cells with which about `machines` of them fill an area of `width` x `height`.
export function fitPitch(machines, width, height) {
  let best = PITCHES[1];
  for (const pitch of PITCHES.slice(1)) {
    if (machines * pitch * pitch * (pitch >= 10 ? 2.6 : 1.5) <= width * height) best = pitch;
  }
  return best;
}

export function otherPitch(pitch, step) {
  const at = PITCHES.indexOf(pitch);
  return PITCHES[Math.max(0, Math.min(PITCHES.length - 1, at + step))];
}
