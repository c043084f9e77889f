// Start: the report stays as it is; above it stand links to it and to the runs, and what the
// address names is shown.

const start = async () => {
  const source = sourceOfPage();
  const report = element("div", { id: "report" });
  report.append(...[...document.body.childNodes].filter((node) => node.nodeName !== "SCRIPT"));
  const nav = element("nav", { class: "browse", "aria-label": "page" }, element("a", { href: "#" }, "Report"), " ");
  document.body.prepend(nav, report);
  let runs;
  try {
    runs = columnsOf(await source.runs());
  } catch (error) {
    nav.append(element("span", { class: "wrong", role: "alert" }, "The runs could not be read: " + error.message));
    return;
  }
  const list = listView(runs), run = runView(runs, source), help = helpDialog();
  nav.append(element("a", { href: runsAddress("") }, counted(runs.count, "run", "runs")), " ", element("button", { type: "button", click: () => help.showModal() }, "? keys"));
  if (runs.texts < runs.count) nav.append(" ", element("small", {}, `texts of ${runs.texts.toLocaleString("en-US")} runs are in this page: flips, failures and a sample; agentbench show has all`));
  document.body.append(list.view, run.view, help);

  let now = "report", before = "", left = 0;
  const views = { list, run };
  const shown = async () => {
    const address = addressNow();
    const next = address.run !== undefined ? "run" : address.q !== undefined ? "list" : "report";
    if (now === "report" && next !== "report") left = scrollY;
    [before, now] = [now === next ? before : now, next];
    report.hidden = next !== "report";
    for (const [name, { view }] of Object.entries(views)) view.hidden = name !== next;
    if (next !== "report") {
      await views[next].show(address);
      if (next === "list") scrollTo(0, 0);
      return;
    }
    const anchor = location.hash.length > 1 && document.getElementById(addressOfAnchor());
    if (anchor) anchor.scrollIntoView();
    else scrollTo(0, left);
  };
  addEventListener("hashchange", shown);
  const back = () => {
    if (before && now === "run") history.back();
    else location.hash = now === "run" ? runsAddress("") : "";
  };
  const filter = () => {
    if (now !== "list") location.hash = runsAddress("");
    setTimeout(list.focus);
  };
  listenToKeys({ view: () => views[now], back, help, filter });
  await shown();
  document.body.dataset.ready = "yes";
};

const addressOfAnchor = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
};

start();
