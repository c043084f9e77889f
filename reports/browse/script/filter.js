// Filter: the language of the filter box. A filter is a list of terms, all of which must hold:
//   config: task: stop: fault: status: side: flip:   a word; * stands for anything
//   split:NAME                                       runs about which the judges of a scorer disagree
//   score<0.5 NAME>=1 cost>0.01 confidence>=0.9      a number; unknown numbers match no such term
//   "text" or text                                   somewhere in the id or why it stopped
// ! before a term negates it. Quotes keep spaces in a word or a name, \" is a quote in them.

const termPattern = /(!?)(?:("(?:[^"\\]|\\.)*"|[^\s":<>=!]+)(:|<=|>=|!=|<|>|=))?("(?:[^"\\]|\\.)*"|[^\s"]+)|(\S)/gu;
const wordKeys = { config: "configuration", configuration: "configuration", task: "task", stop: "stop", fault: "fault", status: "status", flip: "flip" };

const unquoted = (text) => (text?.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, "$1") : text);
const quoted = (text) => (/^[^\s":<>=!]+$/u.test(text) ? text : '"' + text.replace(/["\\]/g, "\\$&") + '"');

// termOf is a term of a key and a word.
const termOf = (key, word) => key + ":" + quoted(word);

// termsOf reads a filter. Each term has its text.
const termsOf = (filter) =>
  [...filter.matchAll(termPattern)].map(([text, not, key, operator, value]) => ({
    text, not: not === "!", key: unquoted(key), operator, value: unquoted(value ?? text),
  }));

// Holds tells for each run whether a term holds. An error is a term that means nothing.
const holds = (runs, term) => {
  if (!term.operator) return textHolds(runs, term.value);
  if (term.operator === ":") return wordHolds(runs, term);
  return numberHolds(runs, term);
};

const textHolds = (runs, text) => {
  const wanted = text.toLowerCase();
  const stop = runs.columns.stop;
  return (run) => runs.id(run).toLowerCase().includes(wanted) || stop.get(run).toLowerCase().includes(wanted);
};

const wordHolds = (runs, { key, value }) => {
  const pattern = value.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*");
  const wanted = new RegExp("^" + pattern + "$", "isu");
  if (key === "split") {
    const named = runs.scores.filter(({ name }) => wanted.test(name));
    return (run) => named.some(({ split }) => split.has(run));
  }
  if (key === "side") return (run) => wanted.test(sideName(runs.columns.side.get(run)));
  const column = runs.columns[Object.hasOwn(wordKeys, key) ? wordKeys[key] : ""];
  if (!column) throw new Error(`unknown ${key}: – there are config, task, stop, fault, status, flip, split and side`);
  const matches = column.words.map((word) => wanted.test(word));
  return (run) => matches[column.at[run]];
};

const comparisons = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};

const numberHolds = (runs, { key, operator, value }) => {
  const score = runs.scores.find((other) => other.name === key) ?? (key === "score" ? runs.scores[0] : undefined);
  const column = score ?? runs.columns[key];
  if (!column?.values) throw new Error(`unknown number ${key} – there are ${[...runs.scores.map((other) => other.name), "cost, tokens, latency, iterations, trial, confidence and believed"].join(", ")}`);
  const wanted = Number(value);
  if (value === "" || Number.isNaN(wanted)) throw new Error(`${value} is not a number`);
  const compare = comparisons[operator];
  return (run) => !Number.isNaN(column.values[run]) && compare(column.values[run], wanted);
};

// filtered are the runs for which all terms hold, and what is wrong with terms. Terms that
// mean nothing match no run.
const filtered = (runs, terms) => {
  const wrong = [];
  const tests = terms.map((term) => {
    try {
      const test = holds(runs, term);
      return term.not ? (run) => !test(run) : test;
    } catch (error) {
      wrong.push(`${term.text}: ${error.message}`);
      return () => false;
    }
  });
  const found = [];
  for (let run = 0; run < runs.count; run++) if (tests.every((test) => test(run))) found.push(run);
  return { found, wrong };
};
