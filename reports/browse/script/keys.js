// Keys: what the keyboard does.

const keyHelp = [
  ["j, k", "next and previous run, step, difference or output"],
  ["n, p", "next and previous flip"],
  ["Enter", "open the run"],
  ["← → ↑ ↓", "other cells of the map"],
  ["y, n, 1 … 9", "label an output"],
  ["Esc", "back"],
  ["/", "filter the runs"],
  ["?", "this help"],
];

const helpDialog = () => {
  const rows = keyHelp.flatMap(([keys, what]) => [element("dt", {}, keys), element("dd", {}, what)]);
  const dialog = element("dialog", { class: "browse", "aria-label": "keyboard" }, element("h2", {}, "Keyboard"), element("dl", {}, ...rows),
    element("h2", {}, "Filter"), element("p", {}, "config: task: stop: fault: status: flip: side: split: and a word; * stands for anything. score, a scorer's name, cost, tokens, latency, iterations, trial and <, <=, >, >=, =, != with a number. Other words are searched for in ids. ! negates a term. All terms have to hold."),
    element("form", { method: "dialog" }, element("button", {}, "close")));
  return dialog;
};

// listenToKeys calls the functions of the view that is shown. What a view presses itself has no other meaning.
const listenToKeys = ({ view, back, help, filter }) => {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const field = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (field) {
      if (event.key === "Escape") field.blur();
      return;
    }
    if (view()?.press?.(event)) return;
    const actions = {
      j: () => view()?.step(1), k: () => view()?.step(-1), n: () => view()?.flip?.(1), p: () => view()?.flip?.(-1), Escape: back, "/": filter, "?": () => help.showModal(),
      Enter: () => !event.target.closest("a, button, summary") && view()?.open?.(),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    if (event.key === "/" || event.key === "?") event.preventDefault();
    actions[event.key]();
  });
};
