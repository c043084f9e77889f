// Copies: runs as texts for other programs and people.

// csvOf is what the list shows of runs, with raw numbers. What a spreadsheet would take for a
// formula gets an apostrophe before it, as in the CSV of reports.
const csvOf = (runs, rows) => {
  const field = (value) => (typeof value === "number" ? String(value) : value === null ? "" : csvText(value));
  const value = (column, run) => (column.key === "side" ? sideName(column.get(run)) : column.get(run));
  const lines = rows.map((run) => runs.shown.map((column) => field(value(column, run))));
  return [runs.shown.map((column) => csvText(column.key)), ...lines].map((line) => line.join(",") + "\r\n").join("");
};

// csvOfNumbers is the table below a chart, with numbers as machines get them.
const csvOfNumbers = (table) => {
  const field = ({ dataset, textContent: text }) => dataset.raw ?? (text && csvText(text));
  return [...table.rows].map((row) => [...row.cells].map(field).join(",") + "\r\n").join("");
};

// copiesOfNumbers offers to copy the table of a chart once it is opened.
const copiesOfNumbers = ({ target }) => {
  const figure = target.closest("figure"), table = figure?.querySelector("details table");
  if (table && target.open && !target.querySelector(".tools")) target.firstElementChild.after(saveButtons("CSV", figure.id.replace(/[^\w.-]+/g, "_") + ".csv", () => csvOfNumbers(table)));
};

const csvText = (text) => csvQuoted((/^[=+\-@＝＋－＠]/u.test(visible(text)) ? "'" : "") + visible(text));
const csvQuoted = (text) => '"' + text.replaceAll('"', '""') + '"';

// factsOf are the columns of a run that say something, by their names.
const factsOf = (runs, at) => runs.shown.slice(1).map((column) => [column, column.get(at)]).filter(([, value]) => value !== "" && value !== null);

// jsonOf is a run with its numbers and texts.
const jsonOf = (runs, at, texts) => {
  const scores = {}, facts = {};
  for (const [column, value] of factsOf(runs, at)) (column.score ? scores : facts)[column.key] = column.key === "side" ? sideName(value) : value;
  return JSON.stringify({ run: runs.id(at), ...facts, scores, texts }, null, 2) + "\n";
};

// markdownOf is a run to be pasted into an issue. Texts are in fences that are longer than any
// within them.
const markdownOf = (runs, at, texts) => {
  const name = (text) => visible(text).replace(/[\\`*_[\]<>|#]/g, "\\$&");
  const fenced = (text) => {
    const fence = "`".repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length + 1)));
    return `${fence}\n${visibleLines(text)}\n${fence}`;
  };
  const part = ({ is, text, left }) => `**${name(is || "…")}**\n\n${fenced(text)}${left ? `\n\n${counted(left, "byte", "bytes")} more` : ""}`;
  const facts = factsOf(runs, at).map(([column, value]) => `- ${name(column.name)}: ${name(cellText(column, value))}`).join("\n");
  const all = texts?.iterations ? [...texts.iterations.flatMap((it) => [`## ${iterationTitle(it)}`, it.used, ...it.parts.map(part)]), "## end", ...texts.end.map(part)] : [];
  return [`# Run ${name(runs.id(at))}`, facts, ...all].join("\n\n") + "\n";
};
