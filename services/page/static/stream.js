// The server's events. The browser comes back by itself and says where it was; the server then goes
// on from there, or sends `begin`.

// How long to wait for a beat, in milliseconds: four times kBeatInterval. A frozen or vanished server does not close the connection.
const SILENCE = 8000;

export function follow({begin, frame, beat, connected, silence = SILENCE}) {
  let source = null;
  let timer = 0;
  const open = () => {
    source?.close();
    source = new EventSource('/events');
    const hear = (type, tell) => source.addEventListener(type, (event) => {
      clearTimeout(timer);
      timer = setTimeout(silent, silence);
      tell(event);
    });
    hear('open', () => connected(true));
    hear('begin', (event) => begin(JSON.parse(event.data)));
    hear('frame', (event) => frame(JSON.parse(event.data)));
    hear('beat', (event) => beat(JSON.parse(event.data)));
    source.addEventListener('error', () => {
      connected(false);
      // Refused (too many open pages), or another error after which the browser gives up: open a new stream.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
    });
  };
  const silent = () => {
    // In other states the browser itself reconnects, and resumes where it was.
    if (source.readyState !== EventSource.OPEN) return;
    connected(false);
    open();
  };
  open();
}

// What the services answer to a question about one thing. Throws an Error for people.
export async function ask(path, parameters) {
  const response = await fetch(`${path}?${new URLSearchParams(parameters)}`);
  const text = await response.text();
  let answer = {};
  try {
    answer = JSON.parse(text);
  } catch {
    answer = {error: text.trim()};
  }
  if (!response.ok)
    throw Object.assign(new Error(answer.error ?? response.statusText), {oldest: answer.oldest});
  return answer;
}

// How often to ask again when something changed, and when nothing seems to have, in milliseconds.
const ASK_EVERY = 2000;
const ASK_ANYWAY = 15000;

// Repeats a question while things change: calls `ask()` if `may()` returns true, never twice at the same time.
export class Asker {
  constructor({ask, may}) {
    Object.assign(this, {ask, may});
    this.asked = -Infinity;
    this.stale = true;
    this.asking = false;
  }

  // The last answer may be outdated.
  changed() {
    this.stale = true;
  }

  // Asks if it is time to. To be called regularly.
  async look() {
    const since = performance.now() - this.asked;
    if (this.asking || since < ASK_EVERY || !(this.stale || since > ASK_ANYWAY) || !this.may())
      return;
    this.stale = false;
    this.asking = true;
    try {
      await this.ask();
    } finally {
      this.asking = false;
      this.asked = performance.now();
    }
  }
}
