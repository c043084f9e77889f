// Label: a person labels outputs without seeing scores or configurations. The labels become a
// file for agentbench calibrate.

// drawn orders runs by lot: the same seed gives the same order, whatever the filter leaves.
const drawn = (runs, rows, seed) => {
  const lot = (text) => {
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
    return (hash ^ (hash >>> 13)) >>> 0;
  };
  const places = new Map(rows.map((run) => [run, lot(seed + " " + runs.id(run))]));
  return [...rows].sort((a, b) => places.get(a) - places.get(b) || a - b);
};

// labelsOf are what a label of a score can say, each with its key: the choices of a judge, the
// whole numbers of a range, yes and no where all scores are, else five numbers.
const labelsOf = ({ range, choices, values }) => {
  const numbered = (texts) => texts.map((text, i) => ({ key: String(i + 1), text }));
  if (choices) return numbered(choices.slice(0, 9));
  const [low, high] = range ? [Math.min(...range), Math.max(...range)] : [0, 1];
  if (range && Number.isInteger(low) && Number.isInteger(high) && high - low < 10 && high - low > 1) {
    const whole = Array.from({ length: high - low + 1 }, (none, i) => String(low + i));
    return low >= 0 && high < 10 ? whole.map((text) => ({ key: text, text })) : numbered(whole).slice(0, 9);
  }
  if (!range && values.every((value) => Number.isNaN(value) || value === 0 || value === 1)) return [{ key: "y", text: "yes" }, { key: "n", text: "no" }];
  return numbered([0, 1, 2, 3, 4].map((i) => String(low + ((high - low) * i) / 4)));
};

const labelView = (runs, source) => {
  const view = element("section", { class: "browse label" });
  let score, side, queue = [], at = 0, labels = new Map(), address = {}, given;

  // Labels are work: they outlive the page where the browser lets it keep them.
  const shelf = () => ["agentbench labels", runs.suite, runs.sides[side].name, score.name].join("\n");
  const kept = () => {
    try {
      return new Map(JSON.parse(localStorage.getItem(shelf()) ?? "[]").filter(([id]) => runs.at(id, side) >= 0));
    } catch {
      return new Map();
    }
  };
  const keep = () => {
    try {
      localStorage.setItem(shelf(), JSON.stringify([...labels]));
    } catch { /* then they last as long as the page */ }
  };

  const csv = () => "run,label\r\n" + [...labels].map(([id, label]) => csvQuoted(id) + "," + csvQuoted(label) + "\r\n").join("");

  const put = (label) => {
    if (at >= queue.length) return;
    labels.set(runs.id(queue[at]), label);
    keep();
    step(1);
  };

  const outputOf = async (run) => {
    const texts = await textsOf(runs, source, run);
    const returned = texts?.iterations?.find(({ n }) => n === texts.returned);
    const output = returned?.parts.filter(({ is }) => is === "output").pop();
    return { prompt: texts?.iterations?.[0]?.parts.find(({ is }) => is === "prompt"), output, missing: texts ? texts.failed : "The texts of this run are not in this page." };
  };

  const choices = () => {
    const label = labels.get(runs.id(queue[at]));
    const buttons = labelsOf(score).flatMap(({ key, text }) =>
      [element("button", { type: "button", "aria-pressed": String(label === text), click: () => put(text) }, key === text ? "" : element("kbd", {}, key + " "), visible(text)), " "]);
    return element("p", { class: "choices", role: "group", "aria-label": "label" }, ...buttons);
  };

  const scorerLinks = () => runs.scores.length > 1 ? [element("p", {}, "scorer: ", ...runs.scores.flatMap(({ name }) =>
    [element("a", { href: hashOf({ ...address, label: name }), "aria-current": name === score.name && "true" }, visible(name)), " "]))] : [];

  const saving = () => {
    const command = "agentbench calibrate SUITE --labels labels.csv --scorer " + shellWord(score.name) + " --results " + shellWord(runs.sides[side].name);
    return [saveButtons("labels", "labels.csv", csv), copyable(command)];
  };

  const draw = async () => {
    const place = at, run = queue[at];
    const done = queue.filter((other) => labels.has(runs.id(other))).length;
    const heading = element("h1", { tabindex: "-1" }, `Label ${visible(score.name)}: ${done} of ${queue.length}`);
    const about = element("p", { class: "used" }, "Scores and configurations are hidden, the order is random. j and k: next and previous. ", element("a", { href: runsAddress(address.q ?? "") }, "choose runs"), " ", element("a", { href: hashOf({ ...address, seed: Number(address.seed ?? 1) + 1 }) }, "another order"));
    if (run === undefined) {
      const said = queue.length === 0 ? "No run of this filter has its texts in this page." : "These were all outputs.";
      view.replaceChildren(heading, ...scorerLinks(), about, element("p", {}, said), ...saving());
      return;
    }
    const { prompt, output, missing } = await outputOf(run);
    if (place !== at || run !== queue[at]) return; // another one is shown meanwhile
    const task = runs.columns.task, input = runs.inputs[task.at[run]];
    const shown = [element("h2", {}, "task " + visible(task.get(run)))];
    if (input) shown.push(partElement({ is: "input", text: input }));
    else if (prompt) shown.push(element("details", {}, element("summary", {}, "prompt (it may tell the configuration)"), partElement(prompt)));
    shown.push(output ? partElement(output) : element("p", {}, missing ?? "The run returned no output."));
    view.replaceChildren(heading, ...scorerLinks(), about, element("article", {}, ...shown), choices(), ...saving());
  };

  const show = async (now, left) => {
    const name = now.label, next = runs.scores.find((other) => other.name === name) ?? runs.scores[0];
    if (!next) {
      view.replaceChildren(element("h1", {}, "Label"), element("p", {}, "There is no scorer to compare labels with."));
      return;
    }
    const again = score === next && given === left && address.seed === now.seed;
    [score, given, address] = [next, left, now];
    if (!again) {
      side = now.side === "base" ? 0 : runs.sides.length - 1;
      const here = left.filter((run) => runs.columns.side.values[run] === side && (runs.served || runs.chunk[run] >= 0));
      queue = drawn(runs, here, now.seed ?? "1");
      labels = kept();
      at = Math.max(0, queue.findIndex((run) => !labels.has(runs.id(run))));
      if (queue.every((run) => labels.has(runs.id(run)))) at = queue.length;
    }
    await draw();
  };

  const step = (by) => {
    at = Math.max(0, Math.min(queue.length, at + by));
    return draw();
  };
  const press = ({ key }) => {
    const label = score && labelsOf(score).find((other) => other.key === key);
    if (label) put(label.text);
    return !!label;
  };
  return { view, show, step, press };
};
