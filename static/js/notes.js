/* Small things that open and go away: notes to newcomers, toasts, the menu, dialogs, growing text areas.

   <aside class="note" data-note="what-a-claim-is" hidden> ... <button data-dismiss="what-a-claim-is">: shown until
   dismissed once in this browser (hidden in the HTML, so that a dismissed one never flashes up). */
(() => {
  "use strict";
  const STORE = "touchstone.dismissed";

  function dismissed() {
    try {
      return JSON.parse(localStorage.getItem(STORE) || "[]");
    } catch {
      return [];
    }
  }

  function showNotes() {
    const gone = dismissed();
    for (const note of document.querySelectorAll("[data-note]")) note.hidden = gone.includes(note.dataset.note);
  }

  document.addEventListener("click", (event) => {
    const note = event.target.closest("[data-dismiss]")?.dataset.dismiss;
    if (note) {
      try {
        localStorage.setItem(STORE, JSON.stringify([...new Set([...dismissed(), note])]));
      } catch {
        // for this page only, then
      }
      for (const el of document.querySelectorAll(`[data-note="${CSS.escape(note)}"]`)) el.hidden = true;
    }
    const close = event.target.closest("[data-close]");
    if (close?.closest("dialog")) close.closest("dialog").close();
    else close?.closest(".toast")?.remove();
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

  // What a key has just done, said in passing: one at a time, and gone by itself, as the key that undoes it stays.
  let passing = null;
  document.addEventListener("touchstone:told", (event) => {
    passing?.remove();
    window.touchstone.toast(event.detail.text);
    const toast = document.getElementById("toasts")?.lastElementChild;
    passing = toast;
    setTimeout(() => toast?.remove(), 10_000);
  });

  // What is closed for now says when it opens.
  document.addEventListener("click", (event) => {
    const closed = event.target.closest('[role="link"][aria-disabled="true"][title]');
    if (closed) window.touchstone.toast(closed.title);
  });

  for (const [name, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(name, (event) => event.target.closest?.(".drop")?.classList.toggle("over", on));
  }

  // Text areas grow by CSS (field-sizing); where the browser cannot, by this.
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
