// The order in which claims are served, as in capacity's queue (services/capacity/core/queue.h). Without DOM.

// Sorts claims [{uid, claim}, ...] that wait for one zone, type and class; `claim` is a ClaimDocument (core/documents.h).
export function inOrder(claims) {
  const organizations = new Map();
  for (const one of claims) {
    const {organization} = one.claim;
    if (!organizations.has(organization)) organizations.set(organization, []);
    organizations.get(organization).push(one);
  }
  const turns = [...organizations].flatMap(
      ([organization, all]) => turnsOf(all).map((turn) => ({...turn, organization})));
  // The sort is stable: claims of an organization with the same place keep their order.
  turns.sort(
      (a, b) => a.place.time - b.place.time || compare(a.organization, b.organization) ||
          compare(a.place.askedBy, b.place.askedBy));
  return turns.map(({one}) => one);
}

// The claims of an organization in its own order, each with the place at which it is first served. The organization's requests take its
// places in order of priority, Node by Node; a request that is granted all at once is served at the last place that it takes.
function turnsOf(claims) {
  const requests = claims.flatMap((one) => one.claim.parts.map((part) => ({...part, one})));
  requests.sort(
      (a, b) => b.one.claim.priority - a.one.claim.priority || a.time - b.time ||
          compare(a.one.uid, b.one.uid));
  const places = claims.flatMap(placesOf);
  places.sort((a, b) => a.time - b.time || compare(a.askedBy, b.askedBy));
  const turns = new Map();
  let place = null;  // null: there are too few, as that of a claim may not be known yet
  let end = 0;     // Nodes of all places up to and including `place`
  let before = 0;  // Nodes of the requests so far
  for (const {one, nodes, atOnce} of requests) {
    const nth = atOnce ? before + nodes - 1 : before;
    while (places.length > 0 && end <= nth) end += (place = places.shift()).nodes;
    if (!turns.has(one))
      turns.set(one, {one, place: place ?? {time: one.claim.since * 1000, askedBy: one.uid}});
    before += nodes;
  }
  return [...turns.values()];
}

// A claim's places; if it has none, they are those of its parts.
function placesOf({uid, claim}) {
  return claim.places.length > 0 ? claim.places :
                                   claim.parts.map((part) => ({...part, askedBy: uid}));
}

const compare = (a, b) => (a < b ? -1 : Number(a > b));
