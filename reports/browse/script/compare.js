// Compare: two or more runs side by side. Equal parts are folded, the first difference is
// marked, and texts that differ have their differences marked.

const compareView = (runs, source, rows) => {
  const view = element("section", { class: "browse compare" });
  let shown = [], differences = [], current = -1;
  const letter = (n) => String.fromCharCode(65 + n);
  const same = (items) => items.every((item) => item && itemKey(item) === itemKey(items[0]));

  const heads = () =>
    shown.map((at, n) => {
      const facts = factsOf(runs, at).map(([column, value]) => {
        const differs = shown.some((other) => cellText(column, column.get(other)) !== cellText(column, value));
        return element("div", {}, element("dt", {}, visible(column.name)), element("dd", {}, cellText(column, value) + (differs ? " ≠" : "")));
      });
      return element("div", {}, element("h2", {}, letter(n) + ": ", element("a", { href: runAddress(runs, at) }, visible(runs.id(at)))), element("dl", { class: "facts" }, ...facts));
    });

  const itemElement = (item, content) => {
    if (item.is === "iteration" || item.is === "end") return element("div", { class: "part" }, element("h2", {}, item.text), element("p", { class: "used" }, item.used));
    return partElement(item, content);
  };

  // cells are the items of a row. The first two are compared with each other, further ones with the first.
  const cells = (items) => {
    const contents = new Array(items.length);
    if (!same(items) && items[0])
      for (let n = items.length - 1; n > 0; n--) if (items[n]) [contents[0], contents[n]] = marked(items[0].text, items[n].text);
    return items.map((item, n) =>
      element("div", { class: "side" }, element("span", { class: "which" }, letter(n)), item ? itemElement(item, contents[n]) : element("p", { class: "absent" }, "not here")));
  };

  const rowOf = (items, extra = {}) => element("div", { class: "pair", ...extra }, ...cells(items));

  const folded = (equal) => {
    const details = element("details", { class: "equal" }, element("summary", {}, counted(equal.length, "equal part", "equal parts")));
    details.addEventListener("toggle", () => details.open && details.children.length === 1 && details.append(...equal.map((items) => rowOf(items))));
    return details;
  };

  const difference = (items) => {
    const item = items.find(Boolean), at = item.step;
    const name = `difference ${differences.length + 1}: ${visible(item.is || "part")}, ${item.atEnd ? "at the end" : "step " + at}`;
    const made = rowOf(items, { tabindex: "-1", role: "group", "aria-label": name });
    made.prepend(element("p", { class: "name" }, differences.length === 0 ? "first difference · " : "", name));
    if (differences.length === 0) made.classList.add("first");
    differences.push({ made, step: at });
    return made;
  };

  const fillTexts = (all) => {
    let equal = [];
    const parts = [];
    for (const items of aligned(all.map(flattened))) {
      if (same(items)) {
        equal.push(items);
        continue;
      }
      if (equal.length > 0) parts.push(folded(equal));
      equal = [];
      parts.push(difference(items));
    }
    if (equal.length > 0) parts.push(folded(equal));
    const said = differences.length === 0 ? "The texts of these runs are equal." : counted(differences.length, "difference", "differences");
    const first = element("button", { type: "button", click: () => step(-current) }, "first difference");
    view.append(element("p", { class: "count-of-differences" }, said + " ", differences.length > 0 ? first : ""), ...parts);
  };

  const fill = async (places) => {
    shown = places;
    [differences, current] = [[], -1];
    const heading = element("h1", { tabindex: "-1" }, counted(places.length, "run", "runs") + " side by side");
    view.style.setProperty("--runs", places.length);
    view.replaceChildren(...[heading, element("div", { class: "pair heads" }, ...heads()), compareLinks(runs, places)].filter(Boolean));
    heading.focus();
    const all = await Promise.all(places.map((at) => textsOf(runs, source, at)));
    if (shown !== places) return; // others were opened meanwhile
    const missing = places.flatMap((at, n) => (all[n]?.iterations ? [] : [leftOut(runs, at, all[n]), copyable(showCommand(runs, at))]));
    if (missing.length > 0) view.append(...missing);
    else fillTexts(all);
  };

  const go = (place) => {
    goTo(differences[place].made, differences[current]?.made);
    current = place;
  };

  const show = async (address) => {
    const places = runsOf(runs, address), missing = places.indexOf(-1);
    if (missing >= 0) {
      shown = [];
      view.replaceChildren(...noRun([address.run, ...address.with][missing]));
      return;
    }
    if (places.join() !== shown.join()) await fill(places);
    const at = address.step ? differences.findIndex(({ step }) => step >= address.step) : -1;
    if (at >= 0) go(at);
  };

  // step goes to the next difference or the one before, and the address names its step.
  const step = (by) => {
    const next = Math.max(0, current + by);
    if (!differences[next]) return;
    replaceAddress(compareAddress(runs, shown, differences[next].step));
    go(next);
  };

  // flip goes to the next run with a flip, beside the runs that are to it what these are to the first.
  const flip = (by) => {
    const next = flipFrom(runs, rows(), rows().indexOf(shown[0]), by);
    if (next === undefined) return;
    const first = rows()[next];
    const alike = (beside) => others(runs, first).find((at) => nameBeside(runs, at, first) === nameBeside(runs, beside, shown[0]));
    const places = [first, ...shown.slice(1).map(alike)].filter((at) => at !== undefined);
    location.hash = places.length > 1 ? compareAddress(runs, places) : runAddress(runs, first);
  };

  return { view, show, step, flip };
};
