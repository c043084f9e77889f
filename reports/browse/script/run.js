// Run: one run with its texts, step by step.

const runView = (runs, source) => {
  const view = element("section", { class: "browse run", hidden: true, "aria-live": "off" });
  let shown = -1, steps = [], current = 0;

  const command = (at) => "agentbench show " + shellWord(runs.sides[runs.columns.get("side").get(at)].name) + " " + shellWord(runs.run.get(at));

  const facts = (at) => {
    const list = element("dl", { class: "facts" });
    for (const column of runs.shown.slice(1)) {
      const value = column.get(at);
      if (value !== "" && value !== null) list.append(element("div", {}, element("dt", {}, visible(column.name)), element("dd", {}, cellText(column, value))));
    }
    return list;
  };

  const part = ({ is, text, left }) => {
    const rest = left ? element("p", { class: "left" }, `${counted(left, "byte", "bytes")} more are left out here`) : undefined;
    return element("div", { class: "part" }, element("h4", {}, visible(is)), element("pre", { dir: "auto" }, visibleLines(text)), rest);
  };

  const marked = (made, step, label) => {
    made.dataset.step = step;
    made.tabIndex = -1;
    made.setAttribute("aria-label", label);
    steps[step] = made;
  };

  const iteration = (it) => {
    const title = `iteration ${it.n}` + (it.stage ? " · " + visible(it.stage) : "");
    const made = element("article", {}, element("h3", {}, title), element("p", { class: "used" }, it.used));
    marked(made, it.step, title);
    for (const given of it.parts) {
      const shownPart = part(given);
      if (given.step) marked(shownPart, given.step, `step ${given.step}`);
      made.append(shownPart);
    }
    return made;
  };

  const left = (at) => {
    const side = runs.sides[runs.columns.get("side").get(at)];
    if (side.baseline) return element("p", {}, "A baseline file has no texts.");
    return element("p", {}, "The texts of this run are left out of this page, which keeps it small. This command shows them:");
  };

  const fill = async (at) => {
    shown = at;
    steps = [];
    const heading = element("h2", { tabindex: "-1" }, "Run " + visible(runs.run.get(at)));
    view.replaceChildren(heading, copyable(command(at)), facts(at));
    view.hidden = false;
    heading.focus();
    let texts;
    try {
      texts = await source.texts(runs.columns.get("side").get(at), runs.run.get(at), runs.chunk[at]);
    } catch (error) {
      view.append(element("p", { class: "wrong", role: "alert" }, "The texts could not be read: " + error.message));
      return;
    }
    if (shown !== at) return; // another run was opened meanwhile
    if (!texts) {
      view.append(left(at));
      return;
    }
    view.append(element("p", { class: "used" }, visible(texts.used)), ...texts.iterations.map(iteration), element("article", { class: "end" }, element("h3", {}, "end"), ...texts.end.map(part)));
  };

  const go = (step) => {
    if (!steps[step]) return;
    steps[current]?.removeAttribute("aria-current");
    current = step;
    steps[step].setAttribute("aria-current", "step");
    steps[step].scrollIntoView({ block: "start" });
    steps[step].focus({ preventScroll: true });
  };

  const show = async ({ run, side, step: at }) => {
    const place = runs.at(run, side === "base" ? 0 : undefined);
    if (place < 0) {
      shown = -1;
      view.replaceChildren(element("h2", { tabindex: "-1" }, "No run " + visible(run)), element("p", {}, "These results have no run of this id. ", element("a", { href: runsAddress("") }, "All runs")));
      view.hidden = false;
      return;
    }
    if (shown !== place) {
      current = 0;
      await fill(place);
    }
    view.hidden = false;
    if (at) go(at);
  };

  // step goes to the next step or the one before, and the address names it.
  const step = (by) => {
    const next = current + by;
    if (shown < 0 || !steps[next]) return;
    replaceAddress(runAddress(runs, shown, next));
    go(next);
  };

  return { view, show, step };
};

// shellWord quotes a word for a shell, where that is needed.
const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");
