// Runs: the columns of all runs, by their keys.

// The columns that a list of runs shows, besides the run and its scores, where they say something.
const shownColumns = ["status", "stop", "fault", "flip", "iterations", "cost", "tokens", "latency"];
const columnNames = { stop: "stopped by", latency: "seconds" };

// columnsOf makes of the data: how many runs there are, and each column with get(run), which is a
// text or a number, null where it is unknown. Compare orders runs. In typed arrays, where an
// unknown number is NaN, columns take a fraction of the memory.
const columnsOf = (data) => {
  if (data.format !== format) throw new Error(`the data have the format ${data.format}, this script knows ${format}`);
  const columns = Object.create(null);
  for (const [key, { of, at: list }] of Object.entries(data.words)) {
    const at = Int32Array.from(list);
    const collator = new Intl.Collator("en", { numeric: true });
    const places = of.map((word, i) => i).sort((a, b) => collator.compare(of[a], of[b]));
    const rank = [];
    places.forEach((word, place) => (rank[word] = place));
    columns[key] = { key, name: columnNames[key] ?? key, words: of, at, get: (run) => of[at[run]], compare: (a, b) => rank[at[a]] - rank[at[b]] };
  }
  const numeric = (key, name, list) => {
    const values = Float64Array.from(list, (value) => value ?? NaN);
    return { key, name, values, get: (run) => (Number.isNaN(values[run]) ? null : values[run]), compare: (a, b) => values[a] - values[b] };
  };
  for (const [key, values] of Object.entries(data.numbers)) columns[key] = numeric(key, columnNames[key] ?? key, values);
  const scores = data.scores.map(({ name, values, split, range, choices }) => ({ ...numeric(name, name, values), score: true, split: new Set(split), range, choices }));
  const ids = data.run, sides = columns.side.values;
  const by = (key, a, b) => columns[key].compare(a, b);
  const run = {
    key: "run", name: "run", get: (at) => ids[at],
    compare: (a, b) => by("configuration", a, b) || by("task", a, b) || by("trial", a, b) || by("side", a, b),
  };
  return {
    suite: data.suite, inputs: data.inputs ?? [], sides: data.sides, texts: data.texts, chunk: Int32Array.from(data.chunk), count: data.runs, run, columns, scores,
    shown: [run, ...(data.sides.length > 1 ? [columns.side] : []), ...scores, ...shownColumns.map((key) => columns[key]).filter(({ words }) => !words || words.some(Boolean))],
    id: run.get,
    ofBase: (at) => sides[at] < data.sides.length - 1,
    // at is the place of a run by its id. Where two sides have the same, it is the new one's.
    at: (id, side = data.sides.length - 1) => ids.findIndex((other, i) => other === id && sides[i] === side),
  };
};

// meanOf is the mean of the values that are known, NaN where none is.
const meanOf = (values) => {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
};

// sideOf is the side of a run.
const sideOf = (runs, at) => runs.sides[runs.columns.side.get(at)];

// sideName is the name of a side in filters and addresses.
const sideName = (side) => ["base", "new"][side];

// flipFrom is the place in a list of runs of the next one with a flip, or with by -1 of the one before; undefined: there is none.
const flipFrom = (runs, rows, place, by) => {
  const flip = runs.columns.flip;
  for (let next = place + by; next >= 0 && next < rows.length; next += by) if (flip.get(rows[next]) !== "") return next;
  return undefined;
};

// others are the runs of a run's task, those most like it first: of the other side, of other trials, of other configurations.
const others = (runs, at) => {
  const task = runs.columns.task.at, side = runs.columns.side.values, trial = runs.columns.trial.values, configuration = runs.columns.configuration.at;
  const found = [];
  for (let run = 0; run < runs.count; run++) if (run !== at && task[run] === task[at]) found.push(run);
  const unlike = (run) => 4 * (configuration[run] !== configuration[at]) + 2 * (trial[run] !== trial[at]) + (side[run] === side[at]);
  return found.sort((a, b) => unlike(a) - unlike(b) || a - b);
};

// fixed is a number with so many digits, rounded as Go does: exactly half goes to the even digit.
const fixed = (number, digits) => {
  const exact = number.toFixed(60), cut = exact.indexOf(".") + 1 + digits;
  return /^50*$/.test(exact.slice(cut)) && Number(exact[cut - 1]) % 2 === 0 ? exact.slice(0, cut) : number.toFixed(digits);
};

// dollars is an amount of money with the digits that count.
const dollars = (usd) => "$" + fixed(usd, usd !== 0 && usd < 0.01 ? 4 : 2);

// cellText is a value as the terminal shows it.
const cellText = (column, value) => {
  if (value === null || value === undefined) return "-";
  if (column.score) return fixed(value, 2);
  switch (column.key) {
    case "cost": return dollars(value);
    case "latency": return fixed(value, 1);
    case "tokens": return value.toLocaleString("en-US");
    case "side": return sideName(value);
  }
  return typeof value === "number" ? String(value) : visible(value);
};
