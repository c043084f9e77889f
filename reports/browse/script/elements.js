// Elements: everything that is shown is made of elements and texts, never of markup, so
// that nothing recorded can become any.

// element makes an element with attributes and children. A function as an attribute
// listens to the event of its name; undefined and false attributes are left out.
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
};

// What a reader could not see, or what changes the direction of a text: written as an escape.
const unseen = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|[\u034f\u115f\u1160\u3164\uffa0]/gu;
const escaped = (character) => {
  const code = character.codePointAt(0);
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  if (short) return short;
  if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
  return code < 0x10000 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
};

// visible is a name from outside, on one line.
const visible = (text) => text.replace(unseen, escaped);

// visibleLines is a text from outside whose lines and tabs stay.
const visibleLines = (text) => text.replace(unseen, (character) => (character === "\n" || character === "\t" ? character : escaped(character)));

// counted is a number with its noun.
const counted = (n, one, many) => n.toLocaleString("en-US") + " " + (n === 1 ? one : many);

// copyable is a text beside a button that copies it.
const copyable = (text) => {
  const code = element("code", {}, visible(text));
  return element("p", { class: "copy" }, code, " ", copyButton("copy", () => text, code));
};

// copyButton copies what make makes. Where copying is not allowed, it selects the text, or
// shows it selected, so that the reader can.
const copyButton = (name, make, shown) => {
  const click = async ({ target }) => {
    const text = await make();
    try {
      await navigator.clipboard.writeText(text);
      target.textContent = "copied";
    } catch {
      target.textContent = "selected";
      const code = shown ?? element("textarea", { "aria-label": name, readonly: true, rows: 8 });
      if (!shown) {
        code.value = text;
        target.after(code);
        code.select();
      } else getSelection().selectAllChildren(code);
    }
  };
  return element("button", { type: "button", click }, name);
};

// saveButtons copy a CSV file, or save it.
const saveButtons = (name, file, make) => {
  const click = () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([make()], { type: "text/csv" })), download: file });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  return element("p", { class: "tools" }, copyButton("copy " + name, make), " ", element("button", { type: "button", click }, "download " + file));
};

// shellWords quotes words for a shell, where that is needed. A word such as -x is no flag behind --.
const shellWords = (...words) => [...(words.some((word) => word.startsWith("-")) ? ["--"] : []), ...words.map(shellWord)].join(" ");
const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");
