// A few words for making and keeping up DOM.

// h('p', {class: 'x', title: 'y', style: {width: '3px'}, on: {click: f}}, 'text', child, ...)
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'style') {
      for (const [property, text] of Object.entries(value))
        element.style.setProperty(property, text);
    } else if (name === 'on') {
      for (const [type, listener] of Object.entries(value))
        element.addEventListener(type, listener);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const shown = new WeakMap();  // element: the key and print that it was made for

// Makes the children of `parent` those of `items` [{key, print, make}], in order: one is made anew
// only where its print (all that it shows, as text) changed, so that focus and selection stay.
export function keep(parent, items) {
  const old = new Map();
  for (const child of [...parent.children]) old.set(shown.get(child)?.key, child);
  let at = parent.firstElementChild;
  for (const item of items) {
    let child = old.get(item.key);
    if (child && shown.get(child)?.print === item.print) {
      old.delete(item.key);
    } else {
      const made = item.make();
      shown.set(made, {key: item.key, print: item.print});
      if (child) {
        old.delete(item.key);
        if (child === at) at = child.nextElementSibling;
        child.remove();
      }
      child = made;
    }
    if (child === at)
      at = at.nextElementSibling;
    else
      parent.insertBefore(child, at);
  }
  for (const child of old.values()) child.remove();
}

// Returns a function that calls `draw` at once, or as soon as `every` milliseconds have passed since the last call.
export function atMostEvery(every, draw) {
  let last = -Infinity;
  let timer = 0;
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    last = performance.now();
    draw();
  };
  return (at) => {
    if (at === 'once' || last + every <= performance.now())
      now();
    else if (!timer)
      timer = setTimeout(now, last + every - performance.now());
  };
}

export const number = (value) => Number(value).toLocaleString('en');

// 3:07, 2h 05m, 3d 4h.
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return `${hours}h ${String(Math.floor(seconds / 60) % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

const two = (value) => String(value).padStart(2, '0');
export function clockTime(milliseconds) {
  const time = new Date(milliseconds);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}
export function dayClockTime(milliseconds) {
  return `${dayTime(milliseconds)}:${two(new Date(milliseconds).getSeconds())}`;
}
export function dayTime(milliseconds) {
  const time = new Date(milliseconds);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${
      two(time.getHours())}:${two(time.getMinutes())}`;
}

// The time zone of all times on the page, which is the browser's: GMT+1. Others' logs may be of another.
const zoneFormat = new Intl.DateTimeFormat('en', {timeZoneName: 'short'});
export function zoneName(milliseconds) {
  return zoneFormat.formatToParts(milliseconds).find(({type}) => type === 'timeZoneName').value;
}

// An element whose text follows the time: `kind` is 'ago' (since `time`) or 'left' (until `time`). The ticker updates it.
export function ticking(kind, time, attributes = {}) {
  return h(
      'time', {...attributes, 'data-tick': kind, 'data-time': time, title: dayTime(time)},
      tickText(kind, time, serverNow()));
}

function tickText(kind, time, now) {
  if (kind === 'ago') return duration(now - time);
  return time > now ? duration(time - now) : '0:00';
}

let skew = 0;
export function setServerTime(now) {
  skew = now - Date.now();
}
export function liveNow() {
  return Date.now() + skew;
}
let moment = null;
// Sets the past moment that is shown, from which times are counted; null: the present.
export function setMoment(milliseconds) {
  moment = milliseconds;
}
export function serverNow() {
  return moment ?? liveNow();
}

export function tick(root = document) {
  const now = serverNow();
  for (const element of root.querySelectorAll('[data-tick]')) {
    const text = tickText(element.dataset.tick, Number(element.dataset.time), now);
    if (element.textContent !== text) element.textContent = text;
  }
}
