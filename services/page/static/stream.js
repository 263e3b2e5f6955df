// The server's events. The browser comes back by itself and says where it was; the server then goes
// on from there, or sends `begin`.

export function follow({begin, frame, beat, connected}) {
  let source = null;
  const open = () => {
    source = new EventSource('/events');
    source.addEventListener('open', () => connected(true));
    source.addEventListener('begin', (event) => begin(JSON.parse(event.data)));
    source.addEventListener('frame', (event) => frame(JSON.parse(event.data)));
    source.addEventListener('beat', (event) => beat(JSON.parse(event.data)));
    source.addEventListener('error', () => {
      connected(false);
      // Refused (too many pages are open) or gone for good: the browser gives up, we do not.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
    });
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
