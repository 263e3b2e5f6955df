// What a state or profile looks like. Never by its colour alone: each has a name in the legend and,
// where there is room, a sign in the cell. The colours are told apart with the common kinds of
// colour blindness (after Okabe and Ito, and Tol).

export const STATES = {
  'free': {label: 'Free', sign: '', dark: '#2b3745', light: '#cfd8e2'},
  'held': {label: 'Held', sign: '·', dark: '#5f7084', light: '#9fb0c2'},
  'assigned': {label: 'Assigned', sign: '○', dark: '#86aed2', light: '#9cc3e6'},
  'booting': {label: 'Booting', sign: '↑', dark: '#56b4e9', light: '#3d9bd6'},
  'registered': {label: 'Registered', sign: '●', dark: '#2f7fbf', light: '#1f6fae'},
  'production': {label: 'Production', sign: '', dark: '#1aa37c', light: '#12976f'},
  'reconfiguring': {label: 'Reconfiguring', sign: '↻', dark: '#cc79a7', light: '#b85c92'},
  'triage': {label: 'Triage', sign: '!', dark: '#e69f00', light: '#e08e00'},
  'leaving': {label: 'Leaving', sign: '↓', dark: '#d9cf3f', light: '#cdbb00'},
  'reclaiming': {label: 'Reclaimed from spot', sign: '→', dark: '#e8702f', light: '#d55e00'},
  'failed': {label: 'Boot failed', sign: '×', dark: '#ff5d73', light: '#c2183c'},
  'in-repair': {label: 'In repair', sign: '+', dark: '#94785f', light: '#8f7763'},
  'retired': {label: 'Retired', sign: '–', dark: '#1d242c', light: '#c3c8ce'},
  'nodeless': {label: 'No Node', sign: '', dark: '#232c36', light: '#dbe1e8'},
  'none': {label: 'Unknown', sign: '?', dark: '#5f7084', light: '#9fb0c2'},
};

// Colours of profiles, assigned in the order in which profiles are first seen.
const PROFILES = {
  dark: [
    '#1aa37c', '#56b4e9', '#e69f00', '#cc79a7', '#d9cf3f', '#8f7ee7', '#e8702f', '#7fc8a9',
    '#b5b5b5', '#c49a6c'
  ],
  light: [
    '#12976f', '#3d9bd6', '#e08e00', '#b85c92', '#bfae00', '#6a57c9', '#d55e00', '#57a585',
    '#8a8f96', '#9a7448'
  ],
};
export const NO_PROFILE = {
  dark: '#2b3745',
  light: '#cfd8e2'
};
export const NOT_BOOTED = {
  dark: '#5f7084',
  light: '#9fb0c2'
};

// Colours of the outlines around pools. There are many pools: only neighbours are told apart.
const OUTLINES = {
  dark: ['#7db3e6', '#f28a97', '#65c07a', '#e0d36a', '#8fe0f5', '#d070a8', '#d6d9dc', '#f5b08c'],
  light: ['#2f5f93', '#c73a4d', '#1c7a33', '#8f7f14', '#1f8fb0', '#8f2168', '#5b636b', '#c0572a'],
};
export const OUTLINE_COUNT = OUTLINES.dark.length;

const SURFACES = {
  dark: {rack: '#18212b', ink: 'rgba(0,0,0,.62)', label: '#8b99a8', select: '#ffffff'},
  light: {rack: '#eef1f5', ink: 'rgba(255,255,255,.92)', label: '#5d6a78', select: '#11161c'},
};

export function theme() {
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
}

export function stateColour(name, scheme = theme()) {
  return (STATES[name] ?? STATES.none)[scheme];
}

export function profileColour(order, scheme = theme()) {
  const all = PROFILES[scheme];
  return all[order % all.length];
}

export function outlineColour(pool, scheme = theme()) {
  return OUTLINES[scheme][pool % OUTLINE_COUNT];
}

export function surfaces(scheme = theme()) {
  return SURFACES[scheme];
}
