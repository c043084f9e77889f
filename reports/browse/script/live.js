// Live: a served page follows its results. The server tells how far they have come; when
// they change, the page is loaded anew, and what is shown stays where it was.

// Loading costs the server a look at all runs: it may take a fifth of the time at most.
const leastWait = 2000;

const pause = (wait) => new Promise((over) => { setTimeout(over, wait); });

const followResults = async (from) => {
  const line = element("p", { class: "live", role: "status" });
  const again = element("a", { href: "", hidden: true, click: (event) => { event.preventDefault(); reload(); } }, "Show the new runs");
  document.querySelector("nav.browse").after(element("div", { class: "browse" }, line, again));
  const rows = () => document.querySelector(".list:not([hidden]) .rows");
  const reload = () => {
    sessionStorage.setItem("kept", JSON.stringify({ at: location.href, top: rows()?.scrollTop, y: scrollY, filter: document.activeElement?.id === "filter" }));
    location.reload();
  };
  const restore = () => {
    const kept = JSON.parse(sessionStorage.getItem("kept") ?? "null");
    sessionStorage.removeItem("kept");
    if (kept?.at !== location.href) return;
    if (rows() && kept.top) rows().scrollTop = kept.top;
    if (kept.filter) document.getElementById("filter")?.focus();
    scrollTo(0, kept.y);
  };
  // Only the report and the list are loaded anew: whoever reads a run, or a help, is not disturbed.
  const busy = () => !document.querySelector("#report:not([hidden]), .list:not([hidden])") || document.querySelector("dialog[open]") || !getSelection().isCollapsed;

  restore();
  const loaded = performance.now();
  const wait = Math.max(leastWait, 5 * loaded);
  let seen = "";
  for (;;) {
    // A browser has few connections to a server: a page that is not seen needs none.
    if (document.hidden) await new Promise((seen) => { document.addEventListener("visibilitychange", seen, { once: true }); });
    try {
      const answer = await fetch(from.dataset.from + "state?seen=" + encodeURIComponent(seen));
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      seen = await answer.text();
    } catch {
      line.textContent = "agentbench view has ended: this is what it showed last.";
      return;
    }
    const { results, status, parts } = JSON.parse(seen);
    line.textContent = status !== "running" ? "" : [status, ...parts].map(visible).join(" · ");
    again.hidden = results === from.dataset.results;
    if (again.hidden) continue;
    if (performance.now() - loaded >= wait && !busy()) return reload();
    seen = ""; // ask again: the line goes on meanwhile
    await pause(1000);
  }
};

const whenReady = () => {
  const from = document.querySelector("script[data-results]");
  if (from && document.querySelector("nav.browse") && document.body.dataset.ready) followResults(from);
  else if (from) setTimeout(whenReady, 20);
};
whenReady();
