/* Keyboard shortcuts, declared in the markup.

   data-key="a" on a button, link, summary, radio button or field: pressing A clicks it (a text field gets the focus).
   Also "Shift+Z", "Control+Enter" (the Command key counts as Control), "/" and sequences such as "g d". Only visible
   elements count; those in the current row ([data-current]) come first. data-key-label names the action in the list of
   keys if the element's own text does not.
   [data-key-group] on a fieldset: 1, 2, 3 ... choose its radio buttons, in the current row. If the row is out of view,
   the key only scrolls to it. Control+Enter in a form[data-draft] or in a popover submits that form.
   Keys never act while typing or behind a modal dialog. Escape stops editing; Enter goes to the row's [data-edit].
   `?` lists all keys; there the user can change a key or turn all keys off (stored in this browser).

   Not tinykeys 3.1: it misses "?" (typed with Shift), runs D as well as G D, knows no letters of Greek or Cyrillic
   layouts, and needs its bindings rebuilt after every swap. Recording a new key needs pressed() anyway. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const STORE = "touchstone.keys";
  const SEQUENCE = 1200; // ms between the keys of a sequence
  const own = { off: false, map: {}, ...ts.stored.get(STORE) }; // map: declared key -> chosen key
  let typed = ""; // first key of a possible sequence
  let typedAt = 0;

  function apply() {
    document.documentElement.classList.toggle("keys-off", own.off);
    showKeys();
  }

  function keep() {
    ts.stored.set(STORE, own);
    apply();
  }

  const canonical = (key) => key.split(" ").map((part) => (part.length === 1 ? part.toLowerCase() : part)).join(" ");

  /** The name of a key press, written as in data-key: "a", "?", "Shift+Z", "Control+Enter". */
  function pressed(event) {
    let { key } = event;
    // On a Greek or Cyrillic layout, the key in the position of A still means A.
    if (key.length === 1 && key.charCodeAt(0) > 127 && /^Key[A-Z]$/.test(event.code)) key = event.code.at(-1);
    if (key === " ") key = "Space";
    const letter = /^[a-z]$/i.test(key);
    const marks = [];
    if (event.ctrlKey || event.metaKey) marks.push("Control");
    if (event.altKey) marks.push("Alt");
    if (event.shiftKey && (letter || key.length > 1)) marks.push("Shift");
    return [...marks, letter ? (marks.length ? key.toUpperCase() : key.toLowerCase()) : key].join("+");
  }

  const mapped = (declared) => own.map[canonical(declared)] || canonical(declared);
  // Items in the closed user menu still have their keys.
  const seen = (el) =>
    el.checkVisibility({ visibilityProperty: true }) || el.closest("label")?.checkVisibility() || el.closest("details.menu");
  const typing = (el) =>
    el instanceof Element &&
    (el.isContentEditable || el.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=button], [type=submit])"));

  const current = () => document.querySelector("[data-row][data-current]");

  function holders(chord) {
    const match = (root) =>
      [...root.querySelectorAll("[data-key]")].filter((el) => mapped(el.dataset.key) === chord && seen(el));
    const row = current();
    return [...(row ? match(row) : []), ...match(document)];
  }

  const startsSequence = (chord) =>
    [...document.querySelectorAll("[data-key]")].some((el) => mapped(el.dataset.key).startsWith(`${chord} `));

  function activate(el) {
    if (el.disabled || el.getAttribute("aria-disabled") === "true") {
      if (el.title) ts.toast(el.title, "warning"); // why it is disabled
      return;
    }
    if (typing(el)) {
      el.focus();
      el.select?.();
      return;
    }
    if (!el.closest("[data-row] .foot")) el.focus({ preventScroll: true }); // undo and next claim leave the focus on the passage
    el.click();
  }

  /** 1-9 choose in the group with the focus, else in the row's first undecided group, else in its first group. */
  function chooseByNumber(number) {
    const row = current();
    if (!row) return false;
    const groups = [...row.querySelectorAll("[data-key-group]")].filter((group) => group.checkVisibility());
    const undecided = (group) => !group.querySelector("input:checked");
    const radio = document.activeElement?.matches("input[type=radio]") && row.contains(document.activeElement);
    const focused = radio ? document.activeElement.closest("fieldset.choice") : null;
    const group = focused || groups.find(undecided) || groups[0];
    const input = group?.querySelectorAll('input[type="radio"]')[number - 1];
    if (!input || input.disabled) return false;
    if (!ts.rows.inSight(row)) {
      ts.rows.makeCurrent(row);
      ts.rows.reveal(row); // never answer a question that is out of view
      return true;
    }
    input.focus({ preventScroll: true });
    input.click();
    return true;
  }

  function onKey(event) {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const el = event.target;
    const form = event.key === "Enter" && (event.ctrlKey || event.metaKey) && el.closest?.("form[data-draft], .popover form");
    if (form && !own.off) {
      event.preventDefault();
      form.requestSubmit();
      return;
    }
    if (typing(el)) {
      if (event.key === "Escape") leaveText(el);
      else if (!own.off && event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event, pressed(event));
      return;
    }
    if (document.querySelector("dialog:modal")) return; // not dialog[open]: the guidelines stay open next to the work
    if (event.key === "?") {
      event.preventDefault();
      openHelp(); // also when keys are off, because the list has the switch
      return;
    }
    if (own.off || ["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
    run(event, pressed(event));
  }

  function run(event, chord) {
    const sequence = Date.now() - typedAt < SEQUENCE && typed ? `${typed} ${chord}` : "";
    const [found] = (sequence && holders(sequence)) || [];
    const target = found || holders(chord)[0];
    typed = !found && startsSequence(chord) ? chord : "";
    typedAt = Date.now();
    if (target) {
      event.preventDefault();
      activate(target);
    } else if (/^[1-9]$/.test(chord)) {
      if (chooseByNumber(Number(chord))) event.preventDefault();
    } else if (chord === "Enter") {
      const onControl = event.target.closest?.("a, button, summary, [data-claim-text]");
      const text = current()?.querySelector("[data-edit]");
      if (onControl || !text) return;
      event.preventDefault();
      text.focus();
      text.setSelectionRange?.(text.value.length, text.value.length); // continue at the end
    }
  }

  function leaveText(el) {
    if (el.closest("dialog")) return;
    const row = el.closest("[data-row]");
    if (row) row.focus({ preventScroll: true });
    else el.blur();
  }

  /* --- keys shown on the elements themselves --- */

  const pretty = (chord) =>
    chord.split(" ").map((part) => part.split("+").map((bit) => (bit.length === 1 ? bit.toUpperCase() : { Control: "Ctrl" }[bit] || bit)).join("+")).join(" ");

  function showKeys() {
    for (const el of document.querySelectorAll("[data-key]")) {
      const hint = (el.matches("input") ? el.closest("label") : el)?.querySelector("kbd");
      if (hint) hint.textContent = pretty(mapped(el.dataset.key));
      el.setAttribute("aria-keyshortcuts", own.off ? "" : pretty(mapped(el.dataset.key)).replace("Ctrl", "Control"));
    }
  }

  /* --- the list of keys, where keys can be changed --- */

  function labelOf(el) {
    if (el.dataset.keyLabel) return el.dataset.keyLabel;
    if (el.getAttribute("aria-label")) return el.getAttribute("aria-label");
    const from = (el.matches("input") && el.labels?.[0]) || el;
    const copy = from.cloneNode(true);
    for (const hint of copy.querySelectorAll("kbd, i, .visually-hidden")) hint.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  function cell(tag, text) {
    const el = document.createElement(tag);
    el.textContent = text;
    return el;
  }

  function helpRow(list, label, chord, declared) {
    const holder = document.createElement("span");
    holder.append(cell("kbd", pretty(chord)));
    const change = cell("button", declared ? "Change" : "");
    change.type = "button";
    change.className = "quiet";
    change.hidden = !declared;
    change.setAttribute("aria-label", `Change the key for ${label}`);
    change.addEventListener("click", () => learn(change, declared, label));
    list.append(cell("span", label), holder, declared ? change : cell("span", ""));
  }

  function openHelp() {
    const dialog = document.getElementById("key-help");
    if (!dialog) return;
    const list = dialog.querySelector(".keylist");
    list.replaceChildren();
    const known = new Set();
    for (const el of document.querySelectorAll("[data-key]")) {
      const declared = canonical(el.dataset.key);
      if (known.has(declared)) continue;
      known.add(declared);
      helpRow(list, labelOf(el), mapped(declared), declared);
    }
    if (document.querySelector("[data-row]")) {
      const rows = { j: "Next row: a sentence, a claim, a passage", k: "Previous row" };
      for (const [key, label] of Object.entries(rows)) if (!known.has(key)) helpRow(list, label, mapped(key), key);
    }
    if (document.querySelector("[data-key-group]")) helpRow(list, "Labels of the current row, in their order", "1 – 9", "");
    if (document.querySelector("[data-edit]")) helpRow(list, "Edit the text of the current row", "Enter", "");
    helpRow(list, "Stop editing", "Escape", "");
    helpRow(list, "This list", "?", "");
    dialog.querySelector("[data-keys-off]").checked = own.off;
    dialog.showModal();
  }

  function learn(button, declared, label) {
    button.textContent = "Press a key …";
    button.addEventListener(
      "keydown",
      (event) => {
        if (["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        const chord = pressed(event);
        const taken = [...document.querySelectorAll("[data-key]")].find(
          (el) => canonical(el.dataset.key) !== declared && mapped(el.dataset.key) === chord,
        );
        if (chord === "Escape" || chord === "Enter" || chord === "?" || /^\d$/.test(chord)) button.textContent = "Change";
        else if (taken) button.textContent = `Taken by “${labelOf(taken)}”`;
        else {
          if (chord === declared) delete own.map[declared];
          else own.map[declared] = chord;
          keep();
          button.textContent = "Change";
          button.previousElementSibling.firstChild.textContent = pretty(chord);
          ts.toast(`${label}: ${pretty(chord)}`);
        }
      },
      { once: true },
    );
  }

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-keys-off]")) return;
    own.off = event.target.checked;
    keep();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-key-help]")) openHelp();
    if (event.target.closest("[data-keys-reset]")) {
      own.map = {};
      keep();
      document.getElementById("key-help").close();
      openHelp();
    }
  });

  document.addEventListener("keydown", onKey);
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("htmx:afterSettle", showKeys);
  ts.keys = { mapped, pressed, typing, shown: (key) => pretty(mapped(key)), isOff: () => own.off };
})();
