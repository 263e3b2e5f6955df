// The server's events. The browser comes back by itself and says where it was; the server then goes
// on from there, or sends `begin`.

// Four beats (kBeatInterval) without one. A server that is frozen, or gone without a word, ends nothing.
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
      // Refused (too many pages are open) or gone for good: the browser gives up, we do not.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
    });
  };
  const silent = () => {
    // Else the browser knows of it, and comes back to where it was.
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
  if (!response.ok) throw new Error(answer.error ?? response.statusText);
  return answer;
}

// How often what changes is asked about again, and what does not seem to.
const ASK_EVERY = 2000;
const ASK_ANYWAY = 15000;

// Asks again while things change, never two at a time: `ask()`, where `may()`.
export class Asker {
  constructor({ask, may}) {
    Object.assign(this, {ask, may});
    this.asked = -Infinity;
    this.stale = true;
    this.asking = false;
  }

  // What was answered may not be so any more.
  changed() {
    this.stale = true;
  }

  // To be called now and then.
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
