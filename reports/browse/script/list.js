// List: the runs that a filter leaves, in a table of which only the rows in sight are there.

const rowHeight = 28;
const rowsAround = 10;
const mostPrinted = 2000;

const listView = (runs) => {
  let given, rows = [], current = 0, sorted = "", printing = false;
  const head = element("tr");
  const body = element("tbody");
  const table = element("table", {}, element("thead", {}, head), body);
  const scroller = element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "runs", scroll: () => draw() }, table);
  const csv = () => csvOf(runs, rows);
  const tools = saveButtons("CSV", "runs.csv", csv);
  const view = element("section", { class: "browse list" }, element("h1", {}, "Runs"), scroller, tools);

  const sortedBy = (sort) => {
    const down = sort.startsWith("-"), key = down ? sort.slice(1) : sort;
    const column = runs.shown.find((other) => other.key === key);
    if (!column) return given;
    const known = (run) => column.get(run) !== null;
    return [...given.filter(known).sort((a, b) => (down ? column.compare(b, a) : column.compare(a, b))), ...given.filter((run) => !known(run))];
  };

  const drawHead = ({ q, sort }) => {
    const focused = head.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    head.replaceChildren(...runs.shown.map((column) => {
      const order = sort === column.key ? "ascending" : sort === "-" + column.key ? "descending" : undefined;
      const next = order === "ascending" ? "-" + column.key : order ? "" : column.key;
      const click = () => {
        replaceAddress(runsAddress(q, next));
        show(addressNow(), given);
      };
      const mark = { ascending: " ▲", descending: " ▼" }[order] ?? "";
      const button = element("button", { type: "button", "data-key": column.key, title: visible(column.name), click }, visible(column.name) + mark);
      return element("th", { scope: "col", "aria-sort": order ?? "none", class: column.key === "run" ? "id" : column.values && "right" }, button);
    }));
    if (focused) [...head.querySelectorAll("button")].find((button) => button.dataset.key === focused)?.focus();
  };

  const row = (place) => {
    const run = rows[place];
    const cells = runs.shown.map((column) => {
      const text = cellText(column, column.get(run));
      if (column.key === "run") return element("td", { class: "id" }, element("a", { href: runAddress(runs, run), title: text }, text));
      return element("td", { class: column.values && "right", title: text }, text);
    });
    return element("tr", { "aria-rowindex": place + 2, "aria-current": place === current && "true" }, ...cells);
  };

  const draw = () => {
    const [from, to] = printing ? [0, Math.min(rows.length, mostPrinted)] : inSight(scroller.scrollTop, innerHeight, rowHeight, rows.length);
    const shown = [];
    for (let place = from; place < to; place++) shown.push(row(place));
    const spaces = [from, printing ? 0 : rows.length - to].map((n) => spaceRow(runs.shown.length, n * rowHeight));
    body.replaceChildren(spaces[0], ...shown, spaces[1]);
  };
  printed((on) => {
    printing = on;
    if (!view.hidden) draw();
  });

  const show = (address, left) => {
    if (given !== left || sorted !== address.sort) {
      [given, sorted] = [left, address.sort];
      rows = sortedBy(sorted);
      current = 0;
      scroller.scrollTop = 0;
      table.setAttribute("aria-rowcount", rows.length + 1);
    }
    drawHead(address);
    draw();
  };

  // go makes a row the current one and keeps it in sight.
  const go = (place) => {
    current = Math.max(0, Math.min(rows.length - 1, place));
    const top = current * rowHeight, height = scroller.clientHeight - 2 * rowHeight;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + height) scroller.scrollTop = top - height;
    draw();
  };

  const flip = (by) => go(flipFrom(runs, rows, current, by) ?? current);
  return { view, show, step: (by) => go(current + by), flip, rows: () => rows, open: () => rows.length > 0 && (location.hash = runAddress(runs, rows[current])) };
};

// inSight are the first row that is drawn and the one behind the last.
const inSight = (top, height, each, count) => {
  const from = Math.max(0, Math.floor(top / each) - rowsAround);
  return [from, Math.min(count, from + Math.ceil(height / each) + 2 * rowsAround)];
};

// spaceRow takes the room of rows that are not drawn.
const spaceRow = (columns, height) => {
  const cell = element("td", { colspan: columns });
  cell.style.height = height + "px";
  return element("tr", { class: "space", "aria-hidden": "true" }, cell);
};

// printed calls a function before and after the page is printed.
const printed = (change) => {
  addEventListener("beforeprint", () => change(true));
  addEventListener("afterprint", () => change(false));
};
