// Address: the state of the page is the part of its address behind #, so that back, forward
// and links work:
//   #q=FILTER&sort=COLUMN              the runs; -COLUMN sorts downwards
//   #map=NUMBER&q=FILTER&sort=COLUMN   tasks and configurations by a number
//   #label=SCORER&seed=N&q=FILTER      labels for a scorer, in an order that the seed decides
//   #run=ID&step=N                     a run; &side=base is the base's, where two results are compared
//   #run=ID&with=ID&step=N             runs side by side; base/ID is the base's
//   anything else                      the report; an address of the report that leaves no run, its row

const addressNow = () => {
  const given = { with: [] };
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 0) continue;
    const key = part.slice(0, at), value = decoded(part.slice(at + 1));
    if (key === "with") given.with.push(value);
    else given[key] = value;
  }
  return { ...given, step: Number(given.step ?? 0), sort: given.sort ?? "" };
};

// decoded is a part of an address. A % that encodes nothing stays.
const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

// viewOf is the view that an address names.
const viewOf = ({ run, with: others, map, label, q }) => {
  if (run !== undefined) return others.length > 0 ? "compare" : "run";
  if (map !== undefined) return "map";
  if (label !== undefined) return "label";
  return q !== undefined ? "list" : "report";
};

const addressKeys = ["run", "side", "with", "map", "label", "seed", "q", "sort", "step"];

// hashOf writes an address. What is not given is left out.
const hashOf = (address) => {
  const parts = addressKeys.flatMap((key) => [address[key]].flat().map((value) => [key, value]));
  const given = parts.filter(([key, value]) => value !== undefined && (value || key === "q" || key === "map" || key === "label"));
  return "#" + given.map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&");
};

const runsAddress = (q, sort) => hashOf({ q, sort });
const runAddress = (runs, at, step) => hashOf({ ...addressOfRun(runs, at), step });

// compareAddress is that of runs side by side.
const compareAddress = (runs, [first, ...others], step) =>
  hashOf({ ...addressOfRun(runs, first), with: others.map((at) => (runs.ofBase(at) ? "base/" : "") + runs.id(at)), step });
const addressOfRun = (runs, at) => ({ run: runs.id(at), side: runs.ofBase(at) ? "base" : undefined });

// runsOf are the places of the runs that an address names; -1: there is no such run. Ids have
// two slashes, so that a third one tells base/ID from an id.
const runsOf = (runs, { run, side, with: others }) => {
  const other = (id) => (id.startsWith("base/") && id.split("/").length > 3 ? runs.at(id.slice(5), 0) : runs.at(id));
  return [runs.at(run, side === "base" ? 0 : undefined), ...others.map(other)];
};

// Replacing the address adds no entry to the history, and shows nothing anew.
const replaceAddress = (hash) => history.replaceState(null, "", hash);
