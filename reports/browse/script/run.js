// Run: one run with its texts, step by step.

// showCommand is the command that shows a run in a terminal.
const showCommand = (runs, at) => "agentbench show " + shellWords(sideOf(runs, at).name, runs.id(at));

// textsOf are the texts of a run, undefined where they are elsewhere, or why they could not be read.
const textsOf = (runs, source, at) => source.texts(runs.columns.side.get(at), runs.id(at), runs.chunk[at]).catch(({ message }) => ({ failed: message }));

// nameBeside is what tells a run from another one of the same task.
const nameBeside = (runs, at, beside) => {
  const differs = (key) => runs.columns[key].get(at) !== runs.columns[key].get(beside);
  const names = [];
  if (differs("side")) names.push(sideName(runs.columns.side.get(at)));
  if (differs("configuration")) names.push(visible(runs.columns.configuration.get(at)));
  if (differs("trial")) names.push("trial " + runs.columns.trial.get(at));
  return names.join(", ") || visible(runs.id(at));
};

const mostOffered = 30;

// compareLinks lead to a run beside others of its task.
const compareLinks = (runs, shown) => {
  const all = shown.some((at) => at < 0) ? [] : others(runs, shown[0]).filter((at) => !shown.includes(at));
  if (all.length === 0) return undefined;
  const links = all.slice(0, mostOffered).flatMap((at) => [element("a", { href: compareAddress(runs, [...shown, at]) }, nameBeside(runs, at, shown[0])), " "]);
  const more = all.length > mostOffered ? [element("a", { href: runsAddress(termOf("task", runs.columns.task.get(shown[0]))) }, counted(all.length - mostOffered, "more run", "more runs"))] : [];
  return element("p", { class: "beside" }, shown.length > 1 ? "and with: " : "compare with: ", ...links, ...more);
};

const noRun = (id) => [element("h1", { tabindex: "-1" }, "No run " + visible(id)), element("p", {}, "These results have no run of this id. ", element("a", { href: runsAddress("") }, "All runs"))];

// leftOut tells why the texts of a run are not here, and where they are.
const leftOut = (runs, at, texts) => {
  if (texts) return element("p", { class: "wrong", role: "alert" }, "The texts could not be read: " + texts.failed);
  if (sideOf(runs, at).baseline) return element("p", {}, "A baseline file has no texts.");
  return element("p", {}, "The texts of this run are not in this page, which is kept small. This command shows them, or what is wrong with them:");
};

// goTo makes an element the current one.
const goTo = (made, before) => {
  before?.removeAttribute("aria-current");
  made.setAttribute("aria-current", "step");
  made.scrollIntoView({ block: "start" });
  made.focus({ preventScroll: true });
};

const runView = (runs, source, rows) => {
  const view = element("section", { class: "browse run" });
  let shown = -1, steps = [], current = 0;

  const facts = (at) => {
    const list = element("dl", { class: "facts" });
    const add = (name, ...value) => list.append(element("div", {}, element("dt", {}, name), element("dd", {}, ...value)));
    for (const [column, value] of factsOf(runs, at)) add(visible(column.name), cellText(column, value));
    const split = runs.scores.filter((score) => score.split.has(at));
    if (split.length > 0) add("judges disagree on", ...split.flatMap(({ name }) => [element("a", { href: runsAddress(termOf("split", name)) }, visible(name)), " "]));
    return list;
  };

  const tools = (at) => {
    const texts = () => textsOf(runs, source, at);
    return element("p", { class: "tools" }, copyButton("copy Markdown", async () => markdownOf(runs, at, await texts())), " ", copyButton("copy JSON", async () => jsonOf(runs, at, await texts())));
  };

  const addStep = (made, step, label) => {
    made.dataset.step = step;
    made.tabIndex = -1;
    if (made.nodeName === "DIV") made.setAttribute("role", "group");
    made.setAttribute("aria-label", label);
    steps[step] = made;
  };

  const iteration = (it) => {
    const made = element("article", {}, element("h2", {}, iterationTitle(it)), element("p", { class: "used" }, it.used));
    addStep(made, it.step, iterationTitle(it));
    for (const given of it.parts) {
      const part = partElement(given);
      if (given.step) addStep(part, given.step, `step ${given.step}`);
      made.append(part);
    }
    return made;
  };

  const fill = async (at) => {
    shown = at;
    [steps, current] = [[], 0];
    const heading = element("h1", { tabindex: "-1" }, "Run " + visible(runs.id(at)));
    view.replaceChildren(...[heading, copyable(showCommand(runs, at)), facts(at), compareLinks(runs, [at]), tools(at)].filter(Boolean));
    heading.focus();
    const texts = await textsOf(runs, source, at);
    if (shown !== at) return; // another run was opened meanwhile
    if (!texts?.iterations) {
      view.append(leftOut(runs, at, texts));
      return;
    }
    view.append(element("p", { class: "used" }, visible(texts.used)), ...texts.iterations.map(iteration), element("article", { class: "ending" }, element("h2", {}, "end"), ...texts.end.map((part) => partElement(part))));
  };

  const go = (step) => {
    if (!steps[step]) return;
    goTo(steps[step], steps[current]);
    current = step;
  };

  const show = async (address) => {
    const [at] = runsOf(runs, address);
    if (at < 0) {
      shown = -1;
      view.replaceChildren(...noRun(address.run));
      return;
    }
    if (shown !== at) await fill(at);
    if (address.step) go(address.step);
  };

  // step goes to the next step or the one before, and the address names it.
  const step = (by) => {
    const next = current + by;
    if (shown < 0 || !steps[next]) return;
    replaceAddress(runAddress(runs, shown, next));
    go(next);
  };

  // flip goes to the next run of the list with a flip, or to the one before.
  const flip = (by) => {
    const next = flipFrom(runs, rows(), rows().indexOf(shown), by);
    if (next !== undefined) location.hash = runAddress(runs, rows()[next]);
  };

  return { view, show, step, flip };
};
