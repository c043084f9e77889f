// List: the runs that a filter leaves, in a table of which only the rows in sight are there.

const rowHeight = 28;
const rowsAround = 10;

const listView = (runs) => {
  let rows = [], current = 0, typing = false, last = {};
  const input = element("input", { type: "search", id: "filter", "aria-label": "filter", autocomplete: "off", spellcheck: "false", placeholder: "status:failed score<0.5 cost>0.01 \"text\"" });
  const terms = element("p", { class: "terms" });
  const wrong = element("p", { class: "wrong", role: "alert" });
  const summary = element("p", { class: "summary", role: "status" });
  const head = element("tr");
  const body = element("tbody");
  const table = element("table", {}, element("thead", {}, head), body);
  const scroller = element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "runs", scroll: () => draw() }, table);
  const view = element("section", { class: "browse list", hidden: true }, element("h2", {}, "Runs"), element("form", { submit: (event) => event.preventDefault() }, input), terms, wrong, summary, scroller);

  // Typing is one entry of the history.
  input.addEventListener("input", () => {
    history[typing ? "replaceState" : "pushState"](null, "", runsAddress(input.value, last.sort));
    typing = true;
    show(addressNow());
  });
  input.addEventListener("change", () => (typing = false));

  const sortedBy = (sort) => {
    const down = sort.startsWith("-"), key = down ? sort.slice(1) : sort;
    const column = runs.shown.find((other) => other.key === key);
    if (!column) return;
    const known = (run) => column.get(run) !== null;
    rows = [...rows.filter(known).sort((a, b) => (down ? column.compare(b, a) : column.compare(a, b))), ...rows.filter((run) => !known(run))];
  };

  const drawHead = ({ q, sort }) => {
    const focused = head.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    head.replaceChildren(...runs.shown.map((column) => {
      const order = sort === column.key ? "ascending" : sort === "-" + column.key ? "descending" : undefined;
      const next = order === "ascending" ? "-" + column.key : order ? "" : column.key;
      const click = () => {
        replaceAddress(runsAddress(q, next));
        show(addressNow());
      };
      const mark = { ascending: " ▲", descending: " ▼" }[order] ?? "";
      return element("th", { scope: "col", "aria-sort": order ?? "none", class: column.key === "run" && "id" }, element("button", { type: "button", "data-key": column.key, click }, visible(column.name) + mark));
    }));
    if (focused) [...head.querySelectorAll("button")].find((button) => button.dataset.key === focused)?.focus();
  };

  const row = (place) => {
    const run = rows[place];
    const cells = runs.shown.map((column) => {
      const text = cellText(column, column.get(run));
      if (column.key === "run") return element("td", { class: "id" }, element("a", { href: runAddress(runs, run) }, text));
      return element("td", { class: column.values && "right" }, text);
    });
    return element("tr", { "aria-rowindex": place + 2, "aria-current": place === current && "true" }, ...cells);
  };

  const space = (height) => {
    const cell = element("td", { colspan: runs.shown.length });
    const filler = element("tr", { class: "space", "aria-hidden": "true" }, cell);
    cell.style.height = height + "px";
    return filler;
  };

  const draw = () => {
    const from = Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - rowsAround);
    const to = Math.min(rows.length, from + Math.ceil(scroller.clientHeight / rowHeight) + 2 * rowsAround);
    const shown = [];
    for (let place = from; place < to; place++) shown.push(row(place));
    body.replaceChildren(space(from * rowHeight), ...shown, space((rows.length - to) * rowHeight));
  };

  const drawTerms = (all, { sort }) => {
    const without = (term) => all.filter((other) => other !== term).map((other) => other.text).join(" ");
    const given = all.map((term) => element("a", { href: runsAddress(without(term), sort), class: "given", "aria-label": "remove " + visible(term.text) }, visible(term.text) + " ×"));
    const q = all.map((term) => term.text).join(" ");
    const offered = [];
    for (const [key, name] of [["configuration", "config"], ["status", "status"], ["stop", "stop"], ["fault", "fault"], ["flip", "flip"]]) {
      const { words, at } = runs.columns.get(key);
      const counts = new Map();
      for (const run of rows) counts.set(at[run], (counts.get(at[run]) ?? 0) + 1);
      const most = [...counts].filter(([word, n]) => words[word] !== "" && n < rows.length).sort((a, b) => b[1] - a[1]).slice(0, 6);
      for (const [word, n] of most) {
        const term = termOf(name, words[word]);
        offered.push(element("a", { href: runsAddress((q + " " + term).trim(), sort) }, visible(term) + " " + n.toLocaleString("en-US")));
      }
    }
    terms.replaceChildren(...[...given, ...offered].flatMap((link) => [link, " "]));
  };

  const mean = (values) => {
    const known = rows.map((run) => values[run]).filter((value) => !Number.isNaN(value));
    return { n: known.length, mean: known.reduce((sum, value) => sum + value, 0) / known.length };
  };
  const drawSummary = () => {
    const parts = [`${rows.length.toLocaleString("en-US")} of ${counted(runs.count, "run", "runs")}`];
    const measured = [...runs.scores, ...["cost", "latency", "iterations"].map((key) => runs.columns.get(key))];
    for (const column of measured) {
      const { n, mean: value } = mean(column.values);
      if (n === 0) continue;
      const text = column.score ? value.toFixed(3) : column.key === "cost" ? dollars(value) : value.toFixed(1);
      parts.push(`mean ${visible(column.name)} ${text}` + (n < rows.length ? ` of ${counted(n, "run", "runs")}` : ""));
    }
    summary.textContent = parts.join(" · ");
  };

  const show = (address) => {
    const q = address.q ?? "";
    if (document.activeElement !== input || input.value !== q) input.value = q;
    if (last.q !== q || last.sort !== address.sort) {
      const all = termsOf(q);
      const result = filtered(runs, all);
      rows = result.found;
      sortedBy(address.sort);
      wrong.textContent = visible(result.wrong.join("; "));
      last = { q, sort: address.sort };
      current = 0;
      scroller.scrollTop = 0;
      table.setAttribute("aria-rowcount", rows.length + 1);
      drawHead({ q, sort: address.sort });
      drawTerms(all, address);
      drawSummary();
    }
    view.hidden = false;
    draw();
  };

  // step moves the current row and keeps it in sight.
  const step = (by) => {
    current = Math.max(0, Math.min(rows.length - 1, current + by));
    const top = current * rowHeight, height = scroller.clientHeight - 2 * rowHeight;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + height) scroller.scrollTop = top - height;
    draw();
  };

  return { view, show, step, focus: () => input.focus(), open: () => rows.length > 0 && (location.hash = runAddress(runs, rows[current])) };
};
