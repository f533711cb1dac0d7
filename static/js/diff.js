/* Live word diff: <p class="diff" data-diff-of="#field-id" data-diff-base="the original text"></p>

   Draws what was taken out and put in, while it is typed. Long unchanged stretches become "…" unless data-diff-full is
   set. data-diff-to: from the field to the base, for a proposal beside one's own text. data-diff-same is the text shown when nothing differs ("Unchanged" by default, "" for none). */
(() => {
  "use strict";
  const ts = window.touchstone;
  const CONTEXT = 4; // words kept on either side of a change
  const LONGEST = 2000; // changed tokens up to which the shortest difference is searched

  const tokens = (text) => text.match(/\s+|[\p{L}\p{M}\p{N}_]+(?:['’.,-][\p{L}\p{M}\p{N}_]+)*|[^\s]/gu) || [];

  /** Myers' greedy search (1986) for the shortest edit script. Returns [kind, text] parts: "same", "del", "ins". */
  function script(a, b) {
    const max = Math.min(a.length + b.length, LONGEST);
    const offset = max + 1;
    const reach = new Int32Array(2 * max + 3);
    const trace = [];
    for (let d = 0; d <= max; d += 1) {
      trace.push(reach.slice(offset - d - 1, offset + d + 2));
      for (let k = -d; k <= d; k += 2) {
        const down = k === -d || (k !== d && reach[offset + k - 1] < reach[offset + k + 1]);
        let x = down ? reach[offset + k + 1] : reach[offset + k - 1] + 1;
        while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
        reach[offset + k] = x;
        if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace, d);
      }
    }
    return [["del", a.join("")], ["ins", b.join("")]]; // nothing much in common
  }

  function walkBack(a, b, trace, depth) {
    const parts = [];
    let x = a.length;
    let y = b.length;
    for (let d = depth; d > 0; d -= 1) {
      const reach = trace[d];
      const at = (k) => reach[k + d + 1];
      const k = x - y;
      const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
      const fromK = down ? k + 1 : k - 1;
      const fromX = at(fromK);
      const fromY = fromX - fromK;
      while (x > fromX && y > fromY) {
        x -= 1;
        y -= 1;
        parts.push(["same", a[x]]);
      }
      if (down) parts.push(["ins", b[(y -= 1)]]);
      else parts.push(["del", a[(x -= 1)]]);
    }
    while (x > 0) parts.push(["same", a[(x -= 1)]]);
    return parts.reverse();
  }

  /** Neighbours of one kind joined; a space between two changes counts as changed, so that phrases stay whole. */
  function joined(parts) {
    const runs = [];
    let del = "";
    let ins = "";
    const close = () => {
      if (del) runs.push(["del", del]);
      if (ins) runs.push(["ins", ins]);
      del = ins = "";
    };
    parts.forEach(([kind, text], i) => {
      const between = kind === "same" && !text.trim() && (del || ins) && parts[i + 1] && parts[i + 1][0] !== "same";
      if (kind !== "ins" && (kind === "del" || between)) del += text;
      if (kind !== "del" && (kind === "ins" || between)) ins += text;
      if (kind === "same" && !between) {
        close();
        if (runs.at(-1)?.[0] === "same") runs.at(-1)[1] += text;
        else runs.push(["same", text]);
      }
    });
    close();
    return runs;
  }

  const diff = (before, after) => joined(script(tokens(before), tokens(after)));

  /** An unchanged stretch with its middle left out; the ends beside a change keep their words. */
  function shortened(text, first, last) {
    const parts = tokens(text);
    const words = CONTEXT * 2; // words and the spaces between them
    if (first && last) return text;
    if (parts.length <= (first || last ? words + 4 : 2 * words + 4)) return text;
    const head = first ? "" : parts.slice(0, words).join("");
    const tail = last ? "" : parts.slice(-words).join("");
    return `${head.trimEnd()}${head ? " " : ""}…${tail ? " " : ""}${tail.trimStart()}`;
  }

  function draw(el) {
    const field = document.querySelector(el.dataset.diffOf);
    if (!field) return;
    const base = el.dataset.diffBase ?? "";
    const text = "value" in field ? field.value : field.textContent;
    const same = base === text;
    el.dir = "auto";
    el.classList.toggle("same", same);
    if (same) {
      el.textContent = el.dataset.diffSame ?? "Unchanged";
      return;
    }
    const runs = "diffTo" in el.dataset ? diff(text, base) : diff(base, text);
    const nodes = [];
    runs.forEach(([kind, words], i) => {
      const full = "diffFull" in el.dataset;
      if (kind === "same") {
        nodes.push(full ? words : shortened(words, i === 0, i === runs.length - 1));
        return;
      }
      // Colour words, not the blanks around them; and a blank between what is out and what is in.
      const [, before, inner, after] = words.match(/^(\s*)([^]*?)(\s*)$/);
      const node = document.createElement(kind);
      node.textContent = inner || words;
      const gap = kind === "ins" && runs[i - 1]?.[0] === "del" && !before && !/\s$/.test(runs[i - 1][1]) ? " " : before;
      nodes.push(...(inner ? [gap, node, after] : [node]));
    });
    el.replaceChildren(...nodes);
  }

  function drawAll() {
    // What is folded away is drawn when it opens.
    for (const el of document.querySelectorAll("[data-diff-of]")) if (!el.closest("details:not([open])")) draw(el);
  }

  // Once a frame at most, however fast somebody types.
  let asked = false;
  function soon() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      drawAll();
    });
  }

  for (const cause of ["input", "touchstone:written", "htmx:afterSwap", "htmx:oobAfterSwap"]) {
    document.addEventListener(cause, soon);
  }
  document.addEventListener("toggle", soon, { capture: true }); // does not bubble
  document.addEventListener("DOMContentLoaded", drawAll);
  ts.diff = diff;
})();
