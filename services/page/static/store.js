// All that the page knows, as the server's frames tell it (services/page/core/board.h says what a
// frame is). Knows no DOM and no time: a store of another moment would be filled likewise.

const FIRST_ROOM = 1024;

// The columns of cells: an array for each number that a cell has; all grow together.
const COLUMNS = {
  state: Int8Array,
  flags: Uint8Array,
  pool: Uint32Array,
  profile: Uint32Array,
  zone: Uint32Array,
  type: Uint32Array,
  rack: Uint32Array,
  slot: Int32Array,
  fabric: Uint32Array,
};

export const FLAGS = {
  spot: 1,
  active: 2,
  unhealthy: 4,
  chosen: 16
};

export class Store {
  constructor() {
    this.resets = 0;
    this.reset({states: [], notice: 120000, end: 420000, version: ''});
  }

  // Empties the store. `begin`: the data of the event `begin`; frames with everything follow.
  reset(begin) {
    ++this.resets;
    this.states = begin.states;
    this.notice = begin.notice;
    this.end = begin.end;
    this.version = begin.version;
    this.words = [''];
    this.ids = [];
    this.indexOf = new Map();
    this.caughtUp = false;
    this.machines = 0;
    this.documents = {
      pool: new Map(),
      quota: new Map(),
      claim: new Map(),
      clock: new Map(),
      protection: new Map(),
      profile: new Map(),
      type: new Map(),
      zone: new Map(),
    };
    this.poolByUid = new Map();
    for (const [name, Type] of Object.entries(COLUMNS)) this[name] = new Type(FIRST_ROOM);
    this.state.fill(-1);
  }

  // Applies a frame. Returns what changed: the indexes of cells, whether any of them moved, and kinds of documents.
  apply(frame) {
    const changes = {cells: [], moved: false, kinds: new Set()};
    if (frame.words) {
      const [first, words] = frame.words;
      for (let i = 0; i < words.length; ++i) this.words[first + i] = words[i];
    }
    for (const row of frame.cells ?? []) this.takeCell(row, changes);
    for (const [kind, key, content] of frame.documents ?? []) {
      this.takeDocument(kind, key, content);
      changes.kinds.add(kind);
    }
    if (frame.caughtUp && !this.caughtUp) {
      this.caughtUp = true;
      changes.moved = true;  // all of them came
    }
    return changes;
  }

  takeCell(row, changes) {
    const index = row[0];
    if (index >= this.state.length) this.makeRoom(index);
    const before = this.state[index];
    this.state[index] = row[1];
    this.machines += (row[1] >= 0) - (before >= 0);
    if ((before < 0) !== (row[1] < 0)) changes.moved = true;
    changes.cells.push(index);
    if (row[1] < 0) return;
    this.flags[index] = row[2];
    this.pool[index] = row[3];
    this.profile[index] = row[4];
    if (row.length < 11) return;
    this.ids[index] = row[5];
    this.indexOf.set(row[5], index);
    this.zone[index] = row[6];
    this.type[index] = row[7];
    this.rack[index] = row[8];
    this.slot[index] = row[9];
    this.fabric[index] = row[10];
    changes.moved = true;
  }

  takeDocument(kind, key, content) {
    const all = this.documents[kind];
    if (!all) return;  // a newer server's
    if (kind === 'pool') {
      // A pool that was deleted and made anew comes as a change, with another uid.
      this.poolByUid.delete(all.get(key)?.uid);
      if (content) this.poolByUid.set(content.uid, key);
    }
    if (content === null)
      all.delete(key);
    else
      all.set(key, content);
  }

  makeRoom(index) {
    let room = this.state.length;
    while (room <= index) room *= 2;
    for (const [name, Type] of Object.entries(COLUMNS)) {
      const more = new Type(room);
      if (name === 'state') more.fill(-1);
      more.set(this[name]);
      this[name] = more;
    }
  }

  // Cells that there are.
  * cells() {
    for (let i = 0; i < this.ids.length; ++i)
      if (this.state[i] >= 0) yield i;
  }

  stateName(index) {
    return this.states[this.state[index]] ?? 'none';
  }

  // The pool's resource name; for a pool that is gone, the one that its claim has.
  poolOfUid(uid) {
    return this.poolByUid.get(uid) ?? this.documents.claim.get(uid)?.pool ?? '';
  }

  // Pools that are refused Nodes, with how many, by the name of the quota.
  refusals() {
    const refusals = new Map();
    for (const [name, pool] of this.documents.pool) {
      const condition = pool.conditions.find((one) => one.type === 'Quota');
      if (!condition || !['Over', 'NotSet'].includes(condition.reason)) continue;
      const quota =
          `organizations/${organizationOf(name)}/quotas/${pool.zone}~${pool.type}~${pool.class}`;
      if (!refusals.has(quota)) refusals.set(quota, []);
      refusals.get(quota).push({name, nodes: Math.max(0, pool.target - pool.granted)});
    }
    return refusals;
  }
}

// `acme` of `organizations/acme/...`.
export function organizationOf(name) {
  return name.split('/')[1] ?? '';
}

// `acme/c1/train` of a pool's resource name.
export function shortPool(name) {
  const parts = name.split('/');
  return parts.length === 6 ? `${parts[1]}/${parts[3]}/${parts[5]}` : name;
}
