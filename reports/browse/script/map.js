// Map: tasks in rows, configurations in columns, a number in each cell, and its trials below it.
// Only the cells in sight are there.

const cellWidth = 112;
const mostTrials = 12;

const mapView = (runs) => {
  let given, key, columns = [], tasks = [], order = "", current = { row: 0, column: -1 }, eachHeight = rowHeight, largest = 1;
  const facts = runs.columns, numbers = [...runs.scores, ...["cost", "tokens", "latency", "iterations"].map((name) => facts[name])];
  const number = () => numbers.find((other) => other.key === key) ?? numbers[0];

  const change = ({ target }) => (location.hash = hashOf({ ...addressNow(), map: target.value }));
  const choice = element("select", { id: "map-number", change }, ...numbers.map(({ key: value, name }) => element("option", { value }, visible(name))));
  const orders = element("p", { class: "orders" });
  const head = element("tr"), body = element("tbody");
  const table = element("table", {}, element("thead", {}, head), body);
  const scroller = element("div", { class: "rows map", tabindex: "0", role: "region", "aria-label": "tasks and configurations", scroll: () => draw() }, table);
  const about = element("p", { class: "used" }, "Means of a task's runs, with the trials below; darker is more; ▼ lost, ▲ won. Arrow keys move between cells.");
  const view = element("section", { class: "browse map-view" }, element("h1", {}, "Tasks and configurations"), element("p", { class: "tools" }, element("label", { for: "map-number" }, "number "), choice), orders, scroller, about);

  // A column is a configuration of a side: its name, and the terms that leave its runs.
  const columnOf = (run) => {
    const side = sideName(facts.side.values[run]), word = facts.configuration.get(run), two = runs.sides.length > 1;
    return { name: (two ? side + ": " : "") + visible(word), terms: termOf("config", word) + (two ? " " + termOf("side", side) : "") };
  };

  const valuesOf = (list) => list.map((run) => number().values[run]);

  // cellsOf are the runs of a task by their columns. They are made for the rows in sight alone: all
  // of them would take much memory.
  const cellsOf = (row) => {
    const cells = new Map();
    for (const run of row.runs) {
      const of = facts.side.values[run] * runs.count + facts.configuration.at[run];
      if (!cells.has(of)) cells.set(of, []);
      cells.get(of).push(run);
    }
    return cells;
  };

  // collect makes a row of each task: its runs, the mean of its cells, their spread, and its flips.
  const collect = () => {
    const task = facts.task.at, seen = new Map(), sorted = Int32Array.from(given).sort((a, b) => task[a] - task[b] || a - b);
    [tasks, largest, eachHeight] = [[], 0, rowHeight];
    for (let from = 0, to = 0; from < sorted.length; from = to) {
      while (to < sorted.length && task[sorted[to]] === task[sorted[from]]) to++;
      const row = { task: task[sorted[from]], runs: sorted.subarray(from, to) }, means = [];
      for (const [of, list] of cellsOf(row)) {
        if (!seen.has(of)) seen.set(of, { of, first: list[0], ...columnOf(list[0]) });
        if (list.length > 1) eachHeight = 2 * rowHeight;
        means.push(meanOf(valuesOf(list)));
      }
      const known = means.filter((value) => !Number.isNaN(value));
      row.mean = meanOf(known);
      row.spread = Math.max(...known) - Math.min(...known);
      row.flips = row.runs.filter((run) => facts.flip.get(run) !== "").length;
      largest = Math.max(largest, ...known);
      tasks.push(row);
    }
    columns = [...seen.values()].sort((a, b) => a.first - b.first); // the order of configurations is that of all runs;
    if (number().score) largest = 1;
  };

  const rankOfTask = (a, b) => facts.task.compare(a.runs[0], b.runs[0]);
  const sortBy = (sort) => {
    const down = sort.startsWith("-") ? -1 : 1, by = sort.replace(/^-/, "");
    const value = (row) => row[by];
    const unknown = (row) => Number(Number.isNaN(value(row)));
    if (!["mean", "spread", "flips"].includes(by)) tasks.sort((a, b) => down * rankOfTask(a, b));
    else tasks.sort((a, b) => unknown(a) - unknown(b) || down * (value(a) - value(b)) || rankOfTask(a, b));
  };

  const drawOrders = (address) => {
    const links = [["", "task"], ["mean", "lowest mean"], ["-mean", "highest mean"], ["-spread", "largest spread"], ["-flips", "most flips"]].flatMap(([sort, name]) =>
      [element("a", { href: hashOf({ ...address, sort }), "aria-current": address.sort === sort && "true" }, name), " "]);
    orders.replaceChildren("order: ", ...links);
  };

  const shade = (value) => (Number.isNaN(value) ? "" : "h" + Math.max(0, Math.min(7, Math.floor((8 * value) / (largest || 1)))));
  const shortly = (value) => (Number.isNaN(value) ? "-" : cellText(number(), number().key === "iterations" ? Number(value.toFixed(1)) : number().key === "tokens" ? Math.round(value) : value));
  const flipOf = (list) => [...new Set(list.map((run) => facts.flip.get(run)))].filter(Boolean);

  const focusable = (row, place, attributes, text) => element("a", { ...attributes, "data-place": row + " " + place, tabindex: row === current.row && place === current.column ? "0" : "-1", focus: () => (current = { row, column: place }) }, text);

  const cell = (cells, row, place) => {
    const { of, name, terms } = columns[place], { task } = tasks[row], list = cells.get(of);
    if (!list) return element("td");
    const trials = valuesOf(list), mean = meanOf(trials), flips = flipOf(list), word = facts.task.words[task];
    const says = `${visible(word)}, ${name}: ${shortly(mean)}` + (list.length > 1 ? ` of ${list.length} trials: ${trials.map(shortly).join(", ")}` : "") + flips.map((flip) => ", " + flip).join("");
    const marks = flips.map((flip) => ({ lost: " ▼", won: " ▲" })[flip]).join("");
    const link = focusable(row, place, { href: runsAddress(termOf("task", word) + " " + terms), "aria-label": says, title: says }, shortly(mean) + marks);
    const small = (value) => (Number.isNaN(value) ? "-" : number().score ? String(Number(value.toFixed(1))) : shortly(value));
    const shown = trials.slice(0, number().score ? mostTrials : 2).map((value) => element("span", { class: shade(value) }, small(value)));
    const made = element("td", { class: shade(mean) }, link);
    if (list.length > 1) made.append(element("div", { class: "trials", "aria-hidden": "true" }, ...shown, shown.length < list.length ? "…" : ""));
    return made;
  };

  const sized = (made, width) => {
    made.style.width = width + "px";
    return made;
  };

  const draw = () => {
    const focused = table.contains(document.activeElement);
    const name = Math.min(256, Math.max(96, scroller.clientWidth * 0.35));
    const [from, to] = inSight(scroller.scrollTop, innerHeight, eachHeight, tasks.length);
    const [left, right] = inSight(scroller.scrollLeft, scroller.clientWidth, cellWidth, columns.length);
    const width = right - left + 3;
    table.style.width = name + columns.length * cellWidth + "px";
    const gap = (n) => sized(element("td", { class: "gap", "aria-hidden": "true" }), n * cellWidth);
    const across = ([first, ...cells]) => [first, gap(left), ...cells, gap(columns.length - right)];
    const places = [...columns.keys()].slice(left, right);
    head.replaceChildren(...across([sized(element("th", { scope: "col" }, "task"), name), ...columns.slice(left, right).map(({ name }) => sized(element("th", { scope: "col", title: name }, name), cellWidth))]));
    const rows = [];
    for (let row = from; row < to; row++) {
      const task = facts.task.words[tasks[row].task], cells = cellsOf(tasks[row]);
      const title = element("th", { scope: "row", title: visible(task) }, focusable(row, -1, { href: runsAddress(termOf("task", task)) }, visible(task)));
      const made = element("tr", { "aria-rowindex": row + 2 }, ...across([title, ...places.map((place) => cell(cells, row, place))]));
      made.style.height = eachHeight + "px";
      rows.push(made);
    }
    body.replaceChildren(spaceRow(width, from * eachHeight), ...rows, spaceRow(width, (tasks.length - to) * eachHeight));
    if (focused) link()?.focus({ preventScroll: true });
  };
  const link = () => body.querySelector(`[data-place="${current.row} ${current.column}"]`);

  const show = (address, left) => {
    if (given !== left || key !== address.map || order !== address.sort) {
      [given, key, order] = [left, address.map, address.sort];
      collect();
      sortBy(order);
      choice.value = number().key;
      current = { row: 0, column: -1 };
      scroller.scrollTop = scroller.scrollLeft = 0;
      table.setAttribute("aria-rowcount", tasks.length + 1);
      table.setAttribute("aria-colcount", columns.length + 1);
    }
    drawOrders(address);
    draw();
  };

  // go makes a cell the current one, brings it into sight and gives it the focus.
  const go = (row, of) => {
    current = { row: Math.max(0, Math.min(tasks.length - 1, row)), column: Math.max(-1, Math.min(columns.length - 1, of)) };
    const top = current.row * eachHeight, height = scroller.clientHeight - eachHeight - rowHeight;
    scroller.scrollTop = Math.max(Math.min(scroller.scrollTop, top), top - height);
    const start = Math.max(0, current.column) * cellWidth, room = scroller.clientWidth - cellWidth - (head.firstChild?.offsetWidth ?? 0);
    scroller.scrollLeft = Math.max(Math.min(scroller.scrollLeft, start), start - room);
    draw();
    link()?.focus({ preventScroll: true });
  };

  // flip goes to the next task with a flip.
  const flip = (by) => {
    for (let row = current.row + by; row >= 0 && row < tasks.length; row += by) if (tasks[row].flips > 0) return go(row, current.column);
  };
  const arrows = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
  const press = (event) => {
    if (!Object.hasOwn(arrows, event.key) || !scroller.contains(event.target)) return false;
    const [rows, over] = arrows[event.key];
    event.preventDefault();
    go(current.row + rows, current.column + over);
    return true;
  };
  return { view, show, step: (by) => go(current.row + by, current.column), flip, press };
};
