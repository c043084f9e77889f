// Source: where the runs and their texts come from. It has two functions:
//   runs()                    all runs, as docs/report.md describes them
//   texts(side, run, chunk)   the texts of a run, or undefined where they are elsewhere

const format = "agentbench-page/1";

// unpacked is the value of a chunk: base64, gzip, JSON.
const unpacked = async (text) => {
  const characters = atob(text), packed = new Uint8Array(characters.length);
  for (let i = 0; i < packed.length; i++) packed[i] = characters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
};

// inPage takes chunks from elements of this page. Of the texts, the chunk of the run alone is
// unpacked, and the one before is forgotten.
const inPage = () => {
  const chunk = (name) => unpacked(document.querySelector(`script[data-chunk="${name}"]`).textContent);
  return {
    runs: () => chunk("runs"),
    texts: async (side, run, number) => {
      if (number < 0) return undefined;
      const all = await chunk("texts-" + number);
      return all.find((texts) => texts.run === run && (texts.side ?? 0) === side);
    },
  };
};

// fromServer asks the server of this page.
const fromServer = (address) => {
  const asked = async (path) => {
    const answer = await fetch(address + path);
    if (answer.status === 404) return undefined;
    if (!answer.ok) throw new Error(visible((await answer.text()).trim()));
    return answer.json();
  };
  return {
    served: true,
    runs: () => asked("runs"),
    texts: (side, run) => asked(`run?side=${side}&run=${encodeURIComponent(run)}`),
  };
};

const sourceOfPage = () => {
  const server = document.querySelector("script[data-from]");
  return server ? fromServer(server.dataset.from) : inPage();
};
