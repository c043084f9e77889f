// Start: the report stays as it is; above it stand links to it and to the views of runs, and what
// the address names is shown.

const start = async () => {
  const source = sourceOfPage();
  const report = element("div", { id: "report" });
  report.append(...[...document.body.childNodes].filter((node) => node.nodeName !== "SCRIPT"));
  const nav = element("nav", { class: "browse", "aria-label": "page" });
  document.body.prepend(nav, report);
  let runs;
  try {
    runs = { ...columnsOf(await source.runs()), served: source.served };
  } catch (error) {
    nav.append(element("span", { class: "wrong", role: "alert" }, "The runs could not be read: " + error.message));
    return;
  }
  const every = Array.from({ length: runs.count }, (none, run) => run);
  const list = listView(runs), help = helpDialog(), bar = filterBar(runs, () => shown());
  const rows = () => (list.rows().length > 0 ? list.rows() : every);
  const views = { list, map: mapView(runs), label: labelView(runs, source), run: runView(runs, source, rows), compare: compareView(runs, source, rows) };
  const main = element("main", { hidden: true }, bar.view, ...Object.values(views).map(({ view }) => view));
  document.body.append(main, help);

  // drawNav links to the views, with the filter that holds.
  const drawNav = (now, q) => {
    const link = (name, hash, text) => element("a", { href: hash, "aria-current": now === name && "page" }, text);
    const links = [link("report", "#", "Report"), link("list", runsAddress(q), counted(runs.count, "run", "runs")), link("map", hashOf({ map: "", q }), "Map")];
    if (runs.scores.length > 0) links.push(link("label", hashOf({ label: runs.scores[0].name, q }), "Label"));
    nav.replaceChildren(...links.flatMap((made) => [made, " "]), element("button", { type: "button", click: () => help.showModal() }, "? keys"));
    if (runs.texts < runs.count) nav.append(" ", element("small", {}, `texts of ${runs.texts.toLocaleString("en-US")} runs are in this page: flips, failures and a sample; agentbench show has all`));
  };

  // rowWithoutRuns is the row of the report that a link of it names, where no run is of that name, as
  // of a configuration that was replayed. Filters that are typed have other addresses.
  const rowWithoutRuns = ({ q }) => {
    const row = q && document.getElementById(location.hash.slice(1));
    return row && filtered(runs, termsOf(q)).found.length === 0 ? row : undefined;
  };

  let now = "report", before = "", left = 0, filter = "";
  const shown = async () => {
    const address = addressNow(), row = rowWithoutRuns(address), next = row ? "report" : viewOf(address);
    if (now === "report" && next !== "report") left = scrollY;
    [before, now] = [now === next ? before : now, next];
    if (!row) filter = address.q ?? filter;
    report.hidden = next !== "report"; // which may have a main of its own
    main.hidden = !report.hidden;
    bar.view.hidden = next !== "list" && next !== "map";
    for (const [name, { view }] of Object.entries(views)) view.hidden = name !== next;
    drawNav(next, filter);
    if (next !== "report") {
      const several = ["list", "map", "label"].includes(next);
      await views[next].show(address, several ? bar.show({ ...address, q: address.q ?? "" }) : undefined);
      if (several && document.activeElement?.id !== "filter") scrollTo(0, 0);
      return undefined;
    }
    const id = location.hash.slice(1), anchor = row ?? document.getElementById(id) ?? document.getElementById(decoded(id));
    if (!anchor) return scrollTo(0, left);
    for (let around = anchor; (around = around.closest("details:not([open])")); ) around.open = true;
    anchor.scrollIntoView();
  };
  addEventListener("hashchange", shown);
  report.addEventListener("toggle", copiesOfNumbers, true);
  const back = () => {
    if (before && (now === "run" || now === "compare")) history.back();
    else location.hash = now === "run" || now === "compare" ? runsAddress("") : "";
  };
  const toFilter = () => {
    if (now === "list" || now === "map") return bar.focus();
    location.hash = runsAddress(filter);
    return setTimeout(bar.focus);
  };
  listenToKeys({ view: () => views[now], back, help, filter: toFilter });
  await shown();
  document.body.dataset.ready = "yes";
};

start();
