/* Editing a claim by selecting words in it: a small toolbar offers Replace and Delete.

   <p data-claim-text tabindex="0">exactly the claim's text</p>
   <form data-edit-form hx-post="...">...</form>

   With mouse or touch: select. With the keyboard: focus the claim, move over its words with the arrow keys, extend with
   Shift+arrow, replace with Enter, delete with Delete; <button data-select-words="#claim-id"> starts it. The toolbar is
   below the claim's last line, and the selected words stay marked (::highlight(chosen-words)) while the user types.
   The form is submitted with hidden inputs kind ("replace" or "delete"), start, end, text and replacement.
   Offsets count Unicode code points, as Python does; the browser itself counts UTF-16 units. */
(() => {
  "use strict";
  const ts = window.touchstone;
  let bar = null;
  let chosen = null; // {home, start, end, text, range}
  let cursor = null; // word mode: {home, anchor, head}, indices of words

  const codePoints = (text) => [...text].length;

  function offsetIn(home, node, offset) {
    const range = document.createRange();
    range.selectNodeContents(home);
    range.setEnd(node, offset);
    return range.toString().length; // UTF-16 units
  }

  /** The selection inside one claim's text, without outer blanks, or null. */
  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const near = range.commonAncestorContainer;
    const home = (near.nodeType === Node.ELEMENT_NODE ? near : near.parentElement)?.closest("[data-claim-text]");
    if (!home) return null;
    const whole = home.textContent;
    let start = offsetIn(home, range.startContainer, range.startOffset);
    let end = offsetIn(home, range.endContainer, range.endOffset);
    while (start < end && /\s/.test(whole[start])) start += 1;
    while (end > start && /\s/.test(whole[end - 1])) end -= 1;
    if (start === end) return null;
    const text = whole.slice(start, end);
    const from = codePoints(whole.slice(0, start));
    return { home, start: from, end: from + codePoints(text), text, range: range.cloneRange() };
  }

  function control(tag, props, ...children) {
    const el = Object.assign(document.createElement(tag), props);
    el.append(...children);
    return el;
  }

  function buildBar() {
    bar = control("div", { className: "select-bar", hidden: true });
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "Edit the chosen words");
    const ask = control("button", { type: "button", className: "btn" }, "Replace …");
    const remove = control("button", { type: "button", className: "btn" }, "Delete");
    const words = control("span", { className: "small" });
    const input = control("input", { className: "input", name: "replacement", autocomplete: "off", dir: "auto" });
    input.setAttribute("aria-label", "New words");
    const form = control("form", { hidden: true }, words, input, control("button", { className: "btn main" }, "Replace"));
    form.dataset.local = ""; // not sent to the server
    ask.addEventListener("click", () => {
      words.textContent = `Replace “${chosen.text}” with`;
      form.hidden = false;
      ask.hidden = remove.hidden = true;
      place();
      input.value = chosen.text;
      input.focus();
      input.select();
    });
    remove.addEventListener("click", () => finish("delete", ""));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      const text = input.value.trim();
      if (text && text !== chosen.text) finish("replace", text);
      else input.focus();
    });
    // Pressing a button of the toolbar must not clear the selection.
    bar.addEventListener("pointerdown", (event) => event.target !== input && event.preventDefault());
    bar.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), hide(true)));
    bar.append(ask, remove, form);
    bar.parts = { ask, remove, form };
    document.body.append(bar);
  }

  /** Below the claim's last line, near the selected words, so the claim is never covered. */
  function place() {
    const gap = 6;
    const words = chosen.range.getBoundingClientRect();
    const left = Math.max(gap, Math.min(words.left, document.documentElement.clientWidth - bar.offsetWidth - gap));
    bar.style.left = `${left}px`;
    bar.style.top = `${chosen.home.getBoundingClientRect().bottom + gap}px`;
  }

  /** Marks the words: the browser's only selection moves to the input while the user types. */
  function mark(range) {
    if (!window.CSS?.highlights) return;
    if (range) CSS.highlights.set("chosen-words", new Highlight(range));
    else CSS.highlights.delete("chosen-words");
  }

  function show() {
    if (!bar) buildBar();
    const { ask, remove, form } = bar.parts;
    form.hidden = true;
    ask.hidden = remove.hidden = false;
    bar.hidden = false;
    mark(chosen.range);
    place();
  }

  function hide(back) {
    if (!bar || bar.hidden) return;
    bar.hidden = true;
    mark(null);
    if (back) chosen.home.focus();
    chosen = null;
    cursor = null;
  }

  function finish(kind, replacement) {
    const { start, end, text } = chosen;
    hide(true);
    getSelection().removeAllRanges();
    const form = document.querySelector("[data-edit-form]");
    for (const [name, value] of Object.entries({ kind, start, end, text, replacement })) {
      let input = form.querySelector(`input[name="${name}"]`);
      if (!input) {
        input = control("input", { type: "hidden", name });
        form.append(input);
      }
      input.value = value;
    }
    form.requestSubmit();
  }

  function look() {
    if (bar && !bar.hidden && bar.contains(document.activeElement)) return; // the user is typing the new words
    const now = selected();
    if (!now) {
      hide(false);
      return;
    }
    chosen = now;
    show();
  }

  document.addEventListener("pointerup", (event) => !event.target.closest?.(".select-bar") && setTimeout(look, 0));
  // On touch screens the handles of a selection move without pointer events.
  let pause = null;
  document.addEventListener("selectionchange", () => {
    clearTimeout(pause);
    if (matchMedia("(pointer: coarse)").matches) pause = setTimeout(look, 400);
  });

  /* --- by keyboard: words --- */

  const wordsOf = (home) => [...home.textContent.matchAll(/\S+/g)].map((m) => ({ start: m.index, end: m.index + m[0].length }));

  /** The text node and the place in it that stand at an offset (UTF-16 units). */
  function pointIn(home, offset) {
    const walker = document.createTreeWalker(home, NodeFilter.SHOW_TEXT);
    let node = walker.nextNode();
    while (node && offset > node.length) {
      offset -= node.length;
      node = walker.nextNode();
    }
    return [node || home, node ? offset : 0];
  }

  function selectWords(home) {
    const words = wordsOf(home);
    const from = words[Math.min(cursor.anchor, cursor.head)];
    const to = words[Math.max(cursor.anchor, cursor.head)];
    if (!from || !to) return;
    getSelection().setBaseAndExtent(...pointIn(home, from.start), ...pointIn(home, to.end));
    look();
  }

  document.addEventListener("keydown", (event) => {
    const home = event.target.closest?.("[data-claim-text]");
    if (!home || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = wordsOf(home).length - 1;
    const rtl = getComputedStyle(home).direction === "rtl" ? -1 : 1;
    const move = { ArrowRight: rtl, ArrowLeft: -rtl }[event.key];
    if (move) {
      event.preventDefault();
      const head = cursor?.home === home ? cursor.head + move : move > 0 ? 0 : last;
      const at = Math.max(0, Math.min(last, head));
      cursor = { home, head: at, anchor: event.shiftKey && cursor?.home === home ? cursor.anchor : at };
      selectWords(home);
    } else if (chosen && event.key === "Enter") {
      event.preventDefault();
      bar.parts.ask.click();
    } else if (chosen && (event.key === "Delete" || event.key === "Backspace")) {
      event.preventDefault();
      finish("delete", "");
    } else if (chosen && event.key === "Escape") {
      event.preventDefault();
      getSelection().removeAllRanges();
      hide(true);
    }
  });

  document.addEventListener("click", (event) => {
    const starter = event.target.closest("[data-select-words]");
    const home = starter && document.querySelector(starter.dataset.selectWords);
    if (!home) return;
    home.focus();
    cursor = { home, anchor: 0, head: 0 };
    selectWords(home);
  });

  ts.words = { offsetIn, pointIn, wordsOf }; // for rationale.js

  document.addEventListener("htmx:afterSwap", () => chosen && !chosen.home.isConnected && hide(false));
  for (const moved of ["scroll", "resize"]) {
    window.addEventListener(moved, () => chosen?.home.isConnected && bar && !bar.hidden && place(), { passive: true });
  }
})();
