/* The words of a passage that decide: selected, marked, listed below the passage.

   <article data-record="stance:..."> with [data-passage] (.whole holds the passage exactly; .excerpt a stretch of it that
   begins at data-from, in code points), the field [data-field="rationale"] ("3-17 40-52", code points) and ul.quotes.
   Select with the mouse, then press Q or the button under the words. Without a selection, [data-select-rationale] (key Q)
   goes to the words of the passage: arrow keys move over them, Shift extends, Enter adds them, Delete takes out the
   selection under them, Escape leaves. The field is saved like any other (outbox.js), so it survives a lost connection. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const { offsetIn, pointIn, wordsOf } = ts.words;
  const cards = () => document.querySelectorAll("article.ev[data-record]");
  const fieldOf = (card) => card.querySelector('[data-field="rationale"]');
  const spansOf = (card) => (fieldOf(card)?.value.match(/\d+-\d+/g) || []).map((each) => each.split("-").map(Number));
  const codePoints = (text) => [...text].length;
  const ellipsis = (passage) => (Number(passage.dataset.from) > 0 ? 2 : 0); // "… " before an excerpt
  let cursor = null; // {passage, anchor, head}: words that the keys have reached

  function joined(spans) {
    const found = [];
    for (const [start, end] of spans.sort((one, other) => one[0] - other[0])) {
      const last = found.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else found.push([start, end]);
    }
    return found;
  }

  function store(card, spans) {
    const field = fieldOf(card);
    const value = joined(spans).map((each) => each.join("-")).join(" ");
    if (value === field.value) return;
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true })); // for outbox.js
    draw();
  }

  /* --- what is selected --- */

  /** The selection as a span of its passage, without outer blanks, or null. */
  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const near = range.commonAncestorContainer;
    const passage = (near.nodeType === Node.ELEMENT_NODE ? near : near.parentElement)?.closest("[data-passage] .passage");
    const card = passage?.closest("article.ev");
    if (!card || !fieldOf(card) || fieldOf(card).readOnly) return null;
    const text = passage.textContent;
    let start = Math.max(offsetIn(passage, range.startContainer, range.startOffset), ellipsis(passage));
    let end = offsetIn(passage, range.endContainer, range.endOffset);
    if (passage.matches(".excerpt") && end > text.length - 2 && text.endsWith(" …") && !endsWhole(card, text)) end = text.length - 2;
    while (start < end && /\s/.test(text[start])) start += 1;
    while (end > start && /\s/.test(text[end - 1])) end -= 1;
    if (start >= end) return null;
    const from = Number(passage.dataset.from || 0) + codePoints(text.slice(ellipsis(passage), start));
    return { card, passage, range, span: [from, from + codePoints(text.slice(start, end))] };
  }

  const endsWhole = (card, text) => card.querySelector(".whole")?.textContent.endsWith(text.slice(-12));

  function add(found) {
    getSelection().removeAllRanges();
    hide();
    store(found.card, [...spansOf(found.card), found.span]);
  }

  const without = (spans, [start, end]) => spans.filter((each) => each[1] <= start || each[0] >= end);

  /* --- the button under selected words --- */

  let bar = null;

  function offer() {
    const found = selected();
    if (!found) return hide();
    if (!bar) {
      bar = Object.assign(document.createElement("div"), { className: "select-bar" });
      const button = Object.assign(document.createElement("button"), { type: "button", className: "btn" });
      button.append("Add to the rationale ", Object.assign(document.createElement("kbd"), { textContent: ts.keys.shown("q") }));
      button.addEventListener("click", () => {
        const now = selected();
        if (now) add(now);
      });
      // A press on the button must not clear the selection.
      bar.addEventListener("pointerdown", (event) => event.preventDefault());
      bar.append(button);
      document.body.append(bar);
    }
    bar.hidden = false;
    const words = found.range.getBoundingClientRect();
    bar.style.left = `${Math.max(6, Math.min(words.left, document.documentElement.clientWidth - bar.offsetWidth - 6))}px`;
    bar.style.top = `${Math.min(words.bottom + 6, innerHeight - bar.offsetHeight - 6)}px`;
  }

  function hide() {
    if (bar) bar.hidden = true;
  }

  document.addEventListener("pointerup", (event) => !event.target.closest?.(".select-bar") && setTimeout(offer, 0));
  let pause = null;
  document.addEventListener("selectionchange", () => {
    clearTimeout(pause);
    if (getSelection().isCollapsed) hide();
    // On touch screens the handles of a selection move without pointer events.
    else if (matchMedia("(pointer: coarse)").matches) pause = setTimeout(offer, 400);
  });
  window.addEventListener("scroll", hide, { passive: true });

  /* --- by keys --- */

  const shownPassage = (card) => [...card.querySelectorAll("[data-passage] .passage")].find((each) => each.checkVisibility());

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-select-rationale]");
    if (!button) return;
    const card = button.closest("article.ev");
    const found = selected();
    if (found?.card === card) return add(found);
    const passage = shownPassage(card);
    if (!passage) return;
    passage.tabIndex = -1;
    passage.focus({ preventScroll: true });
    cursor = { passage, anchor: 0, head: 0 };
    choose();
  });
  // A press on the button keeps words that are selected.
  document.addEventListener("pointerdown", (event) => event.target.closest?.("[data-select-rationale]") && event.preventDefault());

  const reachable = (passage) => wordsOf(passage).filter((each) => passage.textContent.slice(each.start, each.end) !== "…");

  function choose() {
    const words = reachable(cursor.passage);
    const from = words[Math.min(cursor.anchor, cursor.head)];
    const to = words[Math.max(cursor.anchor, cursor.head)];
    if (!from) return;
    getSelection().setBaseAndExtent(...pointIn(cursor.passage, from.start), ...pointIn(cursor.passage, to.end));
    const { bottom, top } = getSelection().getRangeAt(0).getBoundingClientRect();
    if (bottom > ts.rows.floor(cursor.passage) || top < 0) cursor.passage.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (!cursor || event.target !== cursor.passage || event.ctrlKey || event.metaKey || event.altKey) return;
    const rtl = getComputedStyle(cursor.passage).direction === "rtl" ? -1 : 1;
    const move = { ArrowRight: rtl, ArrowLeft: -rtl }[event.key];
    const card = cursor.passage.closest("article.ev");
    const found = selected();
    if (move) {
      const last = reachable(cursor.passage).length - 1;
      cursor.head = Math.max(0, Math.min(last, cursor.head + move));
      if (!event.shiftKey) cursor.anchor = cursor.head;
      choose();
    } else if (event.key === "Enter" && found) {
      store(card, [...spansOf(card), found.span]);
    } else if (/^(Delete|Backspace)$/.test(event.key) && found) {
      store(card, without(spansOf(card), found.span));
    } else if (event.key === "Escape") {
      getSelection().removeAllRanges();
      cursor = null;
      card.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
  });

  /* --- shown: marked in the passage, quoted below it --- */

  function draw() {
    const ranges = [];
    for (const card of cards()) {
      const field = fieldOf(card);
      const whole = card.querySelector(".whole");
      if (!field || !whole) continue;
      const signs = [...whole.textContent];
      const spans = spansOf(card);
      card.querySelector(".quotes").replaceChildren(...spans.map((span) => quote(card, signs.slice(...span).join(""), span)));
      for (const passage of card.querySelectorAll(".passage")) for (const span of spans) ranges.push(...rangeIn(passage, span));
    }
    if (CSS.highlights) CSS.highlights.set("rationale", new Highlight(...ranges));
  }

  /** A span as a range of a passage or its excerpt; none where the excerpt leaves it out. */
  function rangeIn(passage, [start, end]) {
    const text = passage.textContent.slice(ellipsis(passage));
    const signs = [...text];
    const from = Number(passage.dataset.from || 0);
    const at = (place) => ellipsis(passage) + signs.slice(0, Math.max(0, place - from)).join("").length;
    if (end <= from || start >= from + signs.length) return [];
    const range = document.createRange();
    range.setStart(...pointIn(passage, at(start)));
    range.setEnd(...pointIn(passage, at(end)));
    return [range];
  }

  function quote(card, words, span) {
    const item = document.createElement("li");
    item.append(Object.assign(document.createElement("q"), { dir: "auto", textContent: words }));
    if (fieldOf(card).readOnly) return item;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet icon", textContent: "✕", title: "Remove" });
    button.setAttribute("aria-label", `Remove “${words}” from the rationale`);
    button.addEventListener("click", () => {
      store(card, without(spansOf(card), span));
      card.focus({ preventScroll: true });
    });
    item.append(button);
    return item;
  }

  document.addEventListener("touchstone:written", (event) => event.target.matches?.('[data-field="rationale"]') && draw());
  document.addEventListener("DOMContentLoaded", draw);
  document.addEventListener("htmx:afterSettle", draw);
})();
