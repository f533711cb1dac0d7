/* Things that open and close: notes for new users, toasts, the menu, dialogs, growing text areas.

   <aside class="note" data-note="what-a-claim-is" hidden> ... <button data-dismiss="what-a-claim-is">: shown until
   dismissed once in this browser. Hidden in the HTML, so a dismissed note never flashes. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const STORE = "touchstone.dismissed";
  const dismissed = () => ts.stored.get(STORE) || [];

  function showNotes() {
    const gone = dismissed();
    for (const note of document.querySelectorAll("[data-note]")) note.hidden = gone.includes(note.dataset.note);
  }

  document.addEventListener("click", (event) => {
    const note = event.target.closest("[data-dismiss]")?.dataset.dismiss;
    if (note) {
      ts.stored.set(STORE, [...new Set([...dismissed(), note])]);
      for (const el of document.querySelectorAll(`[data-note="${CSS.escape(note)}"]`)) el.hidden = true;
    }
    const close = event.target.closest("[data-close]");
    if (close?.closest("dialog")) close.closest("dialog").close();
    else close?.closest(".toast, .review")?.remove();
    event.target.closest("[data-close-history]")?.closest(".history").remove();
    const open = event.target.closest("[data-open]");
    if (open) document.querySelector(open.dataset.open)?.showModal();
    // A press beside an open menu, or on one of its items, closes it.
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target) || event.target.closest(".menu-body a, .menu-body button")) menu.open = false;
    }
  });

  document.addEventListener("focusin", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = menu.contains(event.target);
  });

  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // What a key has just done. One message at a time: only the last action can be undone.
  let last = null;
  document.addEventListener("touchstone:told", (event) => {
    last?.remove();
    last = ts.toast(event.detail.text);
  });

  // A stage that is still closed says when it opens.
  document.addEventListener("click", (event) => {
    const closed = event.target.closest('[role="link"][aria-disabled="true"][title]');
    if (closed) ts.toast(closed.title);
  });

  for (const [name, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(name, (event) => event.target.closest?.(".drop")?.classList.toggle("over", on));
  }

  // Text areas grow by CSS (field-sizing). This is the fallback for browsers without it.
  if (!CSS.supports("field-sizing", "content")) {
    const grow = (el) => {
      el.style.height = "auto";
      el.style.height = `${el.scrollHeight + 2}px`;
    };
    const growAll = () => document.querySelectorAll("textarea.text").forEach(grow);
    for (const cause of ["DOMContentLoaded", "touchstone:written", "htmx:afterSwap", "htmx:oobAfterSwap"]) {
      document.addEventListener(cause, growAll);
    }
    document.addEventListener("input", (event) => event.target.matches("textarea.text") && grow(event.target));
  }

  document.addEventListener("DOMContentLoaded", showNotes);
  document.addEventListener("htmx:afterSettle", showNotes);
})();
