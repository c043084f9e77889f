// Address: the state of the page is the part of its address behind #, so that back, forward
// and links work:
//   #q=FILTER&sort=COLUMN   the runs; -COLUMN sorts downwards
//   #run=ID&step=N          a run; &side=base is the base's, where two results are compared
//   anything else           the report

const addressNow = () => {
  const given = new Map();
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 0) continue;
    try {
      given.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
    } catch {
      given.set(part.slice(0, at), part.slice(at + 1)); // a % that encodes nothing
    }
  }
  return { run: given.get("run"), side: given.get("side"), step: Number(given.get("step") ?? 0), q: given.get("q"), sort: given.get("sort") ?? "" };
};

const written = (parts) => "#" + parts.filter(([, value]) => value !== undefined).map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&");

const runsAddress = (q, sort) => written([["q", q], ["sort", sort || undefined]]);
const runAddress = (runs, at, step) => {
  const base = runs.columns.get("side").get(at) < runs.sides.length - 1;
  return written([["run", runs.run.get(at)], ["side", base ? "base" : undefined], ["step", step || undefined]]);
};

// Replacing the address adds no entry to the history, and shows nothing anew.
const replaceAddress = (hash) => history.replaceState(null, "", hash);
