// Difference: what two lists have in common, and what differs in two texts.

// mostEdits is how many differences are searched for. Beyond it the rest counts as different.
const mostEdits = 1000;

// matched gives for each place of a the place of b with the same key, or undefined, so that both
// ascend and few are left (E. Myers, Algorithmica 1, 1986).
const matched = (a, b) => {
  const found = new Array(a.length);
  let start = 0, endA = a.length, endB = b.length;
  while (start < endA && start < endB && a[start] === b[start]) found[start] = start++;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) found[--endA] = --endB;
  const n = endA - start, m = endB - start, most = Math.min(n + m, mostEdits);
  const trace = [];
  const reach = new Map([[1, 0]]);
  for (let edits = 0; edits <= most; edits++) {
    trace.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < n && x - k < m && a[start + x] === b[start + x - k]) x++;
      reach.set(k, x);
      if (x >= n && x - k >= m) return walkedBack(found, trace, n, m, start);
    }
  }
  return found;
};

// walkedBack fills in the matches on the way that was found.
const walkedBack = (found, trace, x, y, start) => {
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits], k = x - y;
    const down = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1, fromX = edits === 0 ? 0 : reach.get(from), fromY = edits === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) found[start + --x] = start + --y;
    [x, y] = [fromX, fromY];
  }
  return found;
};

// stretches cuts two lists at what they have in common: stretches that are equal, and those that are not.
const stretches = (a, b) => {
  const match = matched(a, b), all = [];
  let i = 0, j = 0;
  const add = (same, toA, toB) => {
    if (toA > i || toB > j) all.push({ same, a: [i, toA], b: [j, toB] });
    [i, j] = [toA, toB];
  };
  while (i < a.length || j < b.length) {
    let next = i;
    while (next < a.length && match[next] === undefined) next++;
    add(false, next, next < a.length ? match[next] : b.length);
    let end = i;
    while (end < a.length && match[end] === j + end - i) end++;
    add(true, end, j + end - i);
  }
  return all;
};

const linesOf = (text) => text.split(/(?<=\n)/);
const wordsOf = (text) => text.match(/\s+|\d+\.\d+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu) ?? [];

// marked are two texts with their differences marked: first by lines, and by words within lines
// that differ.
const marked = (a, b) => {
  const left = [], right = [], linesA = linesOf(a), linesB = linesOf(b);
  const put = (nodes, name, text) => text && nodes.push(name ? element(name, {}, visibleLines(text)) : visibleLines(text));
  const words = (a, b) => {
    const wordsA = wordsOf(a), wordsB = wordsOf(b);
    for (const { same, a: [i, endA], b: [j, endB] } of stretches(wordsA, wordsB)) {
      put(left, same ? "" : "del", wordsA.slice(i, endA).join(""));
      put(right, same ? "" : "ins", wordsB.slice(j, endB).join(""));
    }
  };
  for (const { same, a: [i, endA], b: [j, endB] } of stretches(linesA, linesB)) {
    const [fromA, fromB] = [linesA.slice(i, endA).join(""), linesB.slice(j, endB).join("")];
    if (!same) words(fromA, fromB);
    else {
      put(left, "", fromA);
      put(right, "", fromB);
    }
  }
  return [left, right];
};

// aligned puts the items of several runs into rows. Equal items stand beside each other, then
// items of the same kind between them. A row has an item of each run, or undefined.
const aligned = ([first, ...others]) => {
  const matches = others.map((other) => pairsOf(first, other));
  const rows = [], next = others.map(() => 0);
  for (let i = 0; i <= first.length; i++) {
    const until = matches.map((match, n) => (i === first.length ? others[n].length : match[i] ?? next[n]));
    const extra = others.map((other, n) => other.slice(next[n], until[n]));
    for (let k = 0; k < Math.max(0, ...extra.map((items) => items.length)); k++) rows.push([undefined, ...extra.map((items) => items[k])]);
    if (i < first.length) rows.push([first[i], ...others.map((other, n) => (matches[n][i] === undefined ? undefined : other[until[n]]))]);
    matches.forEach((match, n) => (next[n] = until[n] + (match[i] === undefined ? 0 : 1)));
  }
  return rows;
};

// What an item is, and what it says. Of counts and heads only the kind is compared: what they took differs in every run.
const itemKey = ({ is, kind, text }) => (partKind(is) === "count" ? kind : kind + "\n" + text);

const pairsOf = (a, b) => {
  const keysA = a.map(itemKey), keysB = b.map(itemKey), pairs = matched(keysA, keysB);
  for (const { same, a: [i, endA], b: [j, endB] } of stretches(keysA, keysB)) {
    if (same) continue;
    matched(a.slice(i, endA).map(({ kind }) => kind), b.slice(j, endB).map(({ kind }) => kind)).forEach((to, from) => (pairs[i + from] = j + to));
  }
  return pairs;
};
