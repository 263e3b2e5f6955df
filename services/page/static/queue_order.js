// In which order claims are served, as capacity's queue has it (services/capacity/core/queue.h). Without DOM.

// Of [{uid, claim}, ...] that wait for one zone, type and class; `claim` is a ClaimDocument (core/documents.h).
export function inOrder(claims) {
  const organizations = new Map();
  for (const one of claims) {
    const {organization} = one.claim;
    if (!organizations.has(organization)) organizations.set(organization, []);
    organizations.get(organization).push(one);
  }
  const turns = [...organizations].flatMap(
      ([organization, all]) => turnsOf(all).map((turn) => ({...turn, organization})));
  // At one place an organization's stay as they are.
  turns.sort(
      (a, b) => a.place.time - b.place.time || compare(a.organization, b.organization) ||
          compare(a.place.askedBy, b.place.askedBy));
  return turns.map(({one}) => one);
}

// An organization's claims in its own order, each with the place at which it is served first. Its requests take its places by
// priority, Node by Node; one that is granted at once is served at the last that it takes.
function turnsOf(claims) {
  const requests = claims.flatMap((one) => one.claim.parts.map((part) => ({...part, one})));
  requests.sort(
      (a, b) => b.one.claim.priority - a.one.claim.priority || a.time - b.time ||
          compare(a.one.uid, b.one.uid));
  const places = claims.flatMap(placesOf);
  places.sort((a, b) => a.time - b.time || compare(a.askedBy, b.askedBy));
  const turns = new Map();
  let place = null;  // another claim may have it that is yet to be told of
  let end = 0;     // Nodes up to there, itself included
  let before = 0;  // Nodes of requests
  for (const {one, nodes, atOnce} of requests) {
    const nth = atOnce ? before + nodes - 1 : before;
    while (places.length > 0 && end <= nth) end += (place = places.shift()).nodes;
    if (!turns.has(one))
      turns.set(one, {one, place: place ?? {time: one.claim.since * 1000, askedBy: one.uid}});
    before += nodes;
  }
  return [...turns.values()];
}

// Where they are not told they are those of its parts.
function placesOf({uid, claim}) {
  return claim.places.length > 0 ? claim.places :
                                   claim.parts.map((part) => ({...part, askedBy: uid}));
}

const compare = (a, b) => (a < b ? -1 : Number(a > b));
