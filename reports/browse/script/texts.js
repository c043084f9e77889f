// Texts: how the parts of a run are shown.

const iterationTitle = (it) => `iteration ${it.n}` + (it.stage ? " · " + visible(it.stage) : "");

// Who speaks in a part, or what kind of event it is. Others stand as they are.
const partKinds = {
  prompt: "user", user: "user", reply: "agent", output: "agent", thinking: "thinking", calls: "tool", delegates: "tool", gave: "tool", tool: "tool", took: "tool",
  confidence: "judgement", checks: "judgement", feedback: "judgement", score: "judgement", vote: "judgement",
  cut: "event", ended: "event", limit: "event", "stopped by": "event", "also held": "event", error: "event", failed: "event", fault: "event",
  why: "fact", success: "fact", returned: "fact", workspace: "fact", adapts: "fact",
};
const partKind = (is) => (Object.hasOwn(partKinds, is) ? partKinds[is] : /^(step |call$)/.test(is) ? "count" : undefined);

// partElement is a part with its name. Shown is its text, if that is to be shown in a special way.
const partElement = ({ is, text, left }, shown) => {
  const rest = left ? element("p", { class: "left" }, `${counted(left, "byte", "bytes")} more are left out here`) : undefined;
  const kind = partKind(is);
  if (kind === "count") return element("div", { class: "part count" }, element("h3", {}, visible(is), " ", element("span", { class: "used" }, visible(text))));
  const content = shown ?? (is.startsWith("diff") ? diffLines(text) : [visibleLines(text)]);
  return element("div", { class: "part" + (kind ? " " + kind : "") }, is ? element("h3", {}, visible(is)) : undefined, element("pre", { dir: "auto" }, ...content), rest);
};

// diffLines marks the lines of a diff, which begin with + and - besides.
const diffLines = (text) =>
  text.split(/(?<=\n)/).map((line) => {
    const kind = /^(diff|index|---|\+\+\+|new file|deleted file)/.test(line) ? "file" : { "+": "more", "-": "less", "@": "place" }[line[0]];
    return kind ? element("span", { class: kind }, visibleLines(line)) : visibleLines(line);
  });

// flattened is a run as a list of items in their order, each with its step: the heads of iterations, parts, and the end.
const flattened = (texts) => {
  const items = [];
  let step = 0, last = "";
  const add = (part) => {
    step = part.step ?? step;
    last = part.is || last;
    items.push({ ...part, step, kind: (part.is ? last : last + "+").replace(/^step \d+$/, "step") });
  };
  for (const it of texts.iterations) {
    add({ is: "iteration", text: iterationTitle(it), used: it.used, step: it.step });
    it.parts.forEach(add);
  }
  for (const part of [{ is: "end", text: "end", used: "" }, ...texts.end]) add({ ...part, atEnd: true });
  return items;
};
