/* Live word diff: <p class="diff" data-diff-of="#field-id" data-diff-base="the original text"></p>

   Shows insertions and deletions while the user types. Needs vendor/jsdiff. Long unchanged stretches become "…" unless
   data-diff-full is set. With data-diff-to, the diff runs from the field to the base: a proposal compared with the
   user's own text. data-diff-same is the text shown when nothing differs ("Unchanged" by default, "" for none). */
(() => {
  "use strict";
  const ts = window.touchstone;
  const CONTEXT = 4; // unchanged words kept on either side of a change
  const TIMEOUT = 250; // ms; two texts that take longer have little in common and are shown as replaced

  // Not jsdiff's own word splitting: its pattern knows only Latin letters and would diff Arabic letter by letter.
  const tokens = (text) => text.match(/\s+|[\p{L}\p{M}\p{N}_]+(?:['’.,-][\p{L}\p{M}\p{N}_]+)*|[^\s]/gu) || [];

  /** Runs of [kind, text]: "same", "del", "ins". A space between two changes counts as changed, so phrases stay whole. */
  function diff(before, after) {
    const changes = Diff.diffArrays(tokens(before), tokens(after), { timeout: TIMEOUT });
    const runs = [];
    let del = "";
    let ins = "";
    const close = () => {
      if (del) runs.push(["del", del]);
      if (ins) runs.push(["ins", ins]);
      del = ins = "";
    };
    const replaced = [{ removed: true, value: [before] }, { added: true, value: [after] }];
    (changes || replaced).forEach(({ added, removed, value }, i, { length }) => {
      const text = value.join("");
      const between = !added && !removed && !text.trim() && i > 0 && i < length - 1;
      if (added || removed || between) {
        if (!added) del += text;
        if (!removed) ins += text;
      } else {
        close();
        runs.push(["same", text]);
      }
    });
    close();
    return runs;
  }

  /** An unchanged stretch with its middle left out; the words next to a change stay. */
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
      // Color the words, not the blanks around them, and keep a blank between a deletion and its replacement.
      const [, before, inner, after] = words.match(/^(\s*)([^]*?)(\s*)$/);
      const node = document.createElement(kind);
      node.textContent = inner || words;
      const gap = kind === "ins" && runs[i - 1]?.[0] === "del" && !before && !/\s$/.test(runs[i - 1][1]) ? " " : before;
      nodes.push(...(inner ? [gap, node, after] : [node]));
    });
    el.replaceChildren(...nodes);
  }

  function drawAll() {
    // A diff inside closed details is drawn when they open.
    for (const el of document.querySelectorAll("[data-diff-of]")) if (!el.closest("details:not([open])")) draw(el);
  }

  // At most once a frame, however fast the user types.
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
