/* The consolidation screen: only what differs, the next open difference, and changes of others that come in.

   The page asks every 1.5 s what is new, while it can be seen. The answer swaps the rows that changed out of band. A row
   in which somebody is typing stays: a note beside it says who changed it, and shows the change when asked to.
   What a decision could not do shows as it was. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const STORE = "touchstone.only-differs";
  const held = new Map(); // id of a row or group -> the newer one that waits
  let sender = null; // whose answer is being swapped in
  let opened = []; // ids of what was open in what is swapped

  /* --- only what differs, remembered for this browser session --- */

  function showOnly(on) {
    document.getElementById("rows")?.classList.toggle("only-differs", on);
    document.querySelector("[data-only-differs]")?.setAttribute("aria-pressed", String(on));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-only-differs]");
    if (!button) return;
    const on = button.getAttribute("aria-pressed") !== "true";
    showOnly(on);
    try {
      sessionStorage.setItem(STORE, on ? "yes" : "no");
    } catch {
      // for this page only, then
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    let kept = null;
    try {
      kept = sessionStorage.getItem(STORE);
    } catch {
      // as the server says
    }
    if (kept && document.querySelector("[data-only-differs]")) showOnly(kept === "yes");
  });

  /* --- the next open difference --- */

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-next-open]")) return;
    event.preventDefault();
    const row = ts.rows.current();
    if (row) ts.rows.advance(row);
    else document.querySelector("[data-row][data-undecided]")?.focus();
  });

  /* --- what comes in --- */

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.id === "news" && document.hidden) event.preventDefault();
  });

  // Who may not ask any more, or signed out, is told once.
  document.addEventListener("htmx:responseError", (event) => {
    if (event.target.id === "news" && event.detail.xhr.status < 500) event.target.remove();
  });

  document.addEventListener("htmx:beforeSwap", (event) => (sender = event.detail.requestConfig?.elt));

  /** What stays open over a swap: all but the form that was just sent; a thread goes on. */
  const openIn = (target) =>
    [...target.querySelectorAll("details[open][id]")].filter((each) => each.matches(".thread") || !each.contains(sender)).map((each) => each.id);

  const isTyped = (el) => el.matches("textarea, select, input[type=text]");

  /** Somebody is at work on a text or a list of reasons in there. */
  function isTypedIn(target) {
    const el = document.activeElement;
    return target.contains(el) && isTyped(el);
  }

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (!target?.matches?.(".agree-row, .agree-group, #talk, #foot")) return;
    if (target.contains(sender) || !isTypedIn(target)) {
      held.delete(target.id);
      opened = opened.concat(openIn(target));
      return;
    }
    event.detail.shouldSwap = false;
    const newer = fragment.querySelector?.(`#${CSS.escape(target.id)}`) || fragment;
    held.set(target.id, newer.cloneNode(true));
    if (!target.matches("#foot")) tell(target);
  });

  /** Beside a row that stays as it is for now: who has changed it. */
  function tell(target) {
    target.querySelector(".changed-note")?.remove();
    const note = document.getElementById("changed-note")?.content.firstElementChild.cloneNode(true);
    if (!note) return;
    const by = document.getElementById("seen")?.dataset.by;
    note.querySelector("span").textContent = `${by || "Somebody"} has changed this.`;
    (document.activeElement.closest(".difference, .thread, .agree-actions, .agree-cell") || target).after(note);
  }

  function show(id) {
    const newer = held.get(id);
    const old = document.getElementById(id);
    if (!newer || !old) return;
    held.delete(id);
    const open = openIn(old);
    newer.removeAttribute("hx-swap-oob");
    old.replaceWith(newer);
    htmx.process(newer);
    reopen(open);
    for (const name of ["htmx:oobAfterSwap", "htmx:afterSettle"]) htmx.trigger(newer, name, { target: newer });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-show-changed]");
    const owner = button?.closest(".agree-row, .agree-group, #talk");
    if (!owner) return;
    const id = held.has(owner.id) ? owner.id : owner.closest(".agree-group")?.id;
    show(id);
    document.getElementById(owner.id)?.focus({ preventScroll: true });
  });

  // Who has left the text untouched sees the change at once.
  document.addEventListener("focusout", () => {
    setTimeout(() => {
      for (const id of [...held.keys()]) {
        const target = document.getElementById(id);
        const typed = target && [...target.querySelectorAll("textarea, input[type=text]")].some((el) => el.value !== el.defaultValue);
        if (target && !typed && !isTypedIn(target)) show(id);
      }
    }, 0);
  });

  function reopen(ids) {
    for (const id of ids) document.getElementById(id)?.setAttribute("open", "");
  }

  document.addEventListener("htmx:oobAfterSwap", () => reopen(opened));
  document.addEventListener("htmx:afterSettle", () => {
    reopen(opened);
    opened = [];
  });

  /* --- what could not be done --- */

  /** A choice that the server does not have is not shown as one. */
  function restore(form) {
    if (!form.isConnected) return;
    form.reset();
    const group = form.querySelector("fieldset[data-key-group]");
    if (!group || form.querySelector("input:checked")) return;
    group.setAttribute("data-undecided", "");
    form.closest("[data-row]").setAttribute("data-undecided", "");
  }

  const isChoice = (el) => el.matches?.("form.settle");

  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, ({ detail }) => isChoice(detail.elt) && restore(detail.elt));
  }

  // Without a connection requests.js holds a request back, and gives it up with a word where the server stays away.
  document.addEventListener("htmx:confirm", (event) => {
    const form = event.detail.elt;
    if (!event.defaultPrevented || !isChoice(form)) return;
    const look = () => (form.hasAttribute("aria-busy") ? setTimeout(look, 100) : restore(form));
    setTimeout(look, 100);
  });
})();
