// Bar: the filter box above a view of several runs, with terms to click on and what is left.

// filterBar has the runs that the filter of an address leaves. Shown is called when the filter was edited.
const filterBar = (runs, shown) => {
  let rows = [], typing = false, last;
  const input = element("input", { type: "search", id: "filter", "aria-label": "filter", autocomplete: "off", spellcheck: "false", placeholder: "status:failed score<0.5 cost>0.01 \"text\"" });
  const terms = element("p", { class: "terms" });
  const wrong = element("p", { class: "wrong", role: "alert" });
  const summary = element("p", { class: "summary", role: "status" });
  const view = element("search", { class: "browse bar" }, element("form", { submit: (event) => event.preventDefault() }, input), terms, wrong, summary);

  // Typing is one entry of the history.
  input.addEventListener("input", () => {
    history[typing ? "replaceState" : "pushState"](null, "", hashOf({ ...addressNow(), q: input.value }));
    typing = true;
    shown();
  });
  input.addEventListener("change", () => (typing = false));

  // drawTerms offers the terms that would narrow the runs, with how many they leave.
  const drawTerms = (all, address) => {
    const linkTo = (q) => hashOf({ ...address, q });
    const without = (term) => all.filter((other) => other !== term).map((other) => other.text).join(" ");
    const given = all.map((term) => element("a", { href: linkTo(without(term)), class: "given", "aria-label": "remove " + visible(term.text) }, element("bdi", {}, visible(term.text)), " ×"));
    const q = all.map((term) => term.text).join(" ");
    const offer = (term, n) => element("a", { href: linkTo((q + " " + term).trim()), title: visible(term) }, element("bdi", {}, visible(term)), " " + n.toLocaleString("en-US"));
    const offered = [];
    for (const [key, name] of [["configuration", "config"], ["status", "status"], ["stop", "stop"], ["fault", "fault"], ["flip", "flip"]]) {
      const { words, at } = runs.columns[key];
      const counts = new Map();
      for (const run of rows) counts.set(at[run], (counts.get(at[run]) ?? 0) + 1);
      const most = [...counts].filter(([word, n]) => words[word] !== "" && n < rows.length).sort((a, b) => b[1] - a[1]).slice(0, 6);
      for (const [word, n] of most) offered.push(offer(termOf(name, words[word]), n));
    }
    for (const { name, split } of runs.scores) {
      const n = split.size > 0 ? rows.filter((run) => split.has(run)).length : 0;
      if (n > 0 && n < rows.length) offered.push(offer(termOf("split", name), n));
    }
    terms.replaceChildren(...[...given, ...offered].flatMap((link) => [link, " "]));
  };

  const drawSummary = () => {
    const parts = [`${rows.length.toLocaleString("en-US")} of ${counted(runs.count, "run", "runs")}`];
    for (const column of [...runs.scores, ...["cost", "latency", "iterations"].map((key) => runs.columns[key])]) {
      const values = rows.map((run) => column.values[run]), value = meanOf(values), n = values.filter((one) => !Number.isNaN(one)).length;
      if (n === 0) continue;
      const text = column.key === "cost" ? dollars(value) : fixed(value, column.score ? 3 : 1);
      parts.push(`mean ${visible(column.name)} ${text}` + (n < rows.length ? ` of ${counted(n, "run", "runs")}` : ""));
    }
    summary.textContent = parts.join(" · ");
  };

  const show = (address) => {
    const q = address.q ?? "";
    if (document.activeElement !== input || input.value !== q) input.value = q;
    const all = termsOf(q);
    if (last !== q) {
      const result = filtered(runs, all);
      rows = result.found;
      wrong.textContent = visible(result.wrong.join("; "));
      last = q;
      drawSummary();
    }
    drawTerms(all, address);
    return rows;
  };

  return { view, show, rows: () => rows, focus: () => input.focus() };
};
