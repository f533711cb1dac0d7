/* Forms whose text outlives the page: what is typed in form[data-draft="name"] stays in this browser until the form is
   sent by htmx. data-draft-told is said when something was brought back. [data-forget="#form"] throws the draft away. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const seen = new WeakSet(); // forms that have had their draft back
  const storeKey = (form) => `touchstone.draft.${document.body.dataset.user}.${form.dataset.draft}`;
  const fieldsOf = (form) => [...form.elements].filter((el) => el.name && el.matches("input:not([type=hidden]), textarea"));

  function keep(form) {
    const typed = fieldsOf(form).filter((el) => el.value !== el.defaultValue);
    try {
      if (typed.length) localStorage.setItem(storeKey(form), JSON.stringify(Object.fromEntries(typed.map((el) => [el.name, el.value]))));
      else localStorage.removeItem(storeKey(form));
    } catch {
      // storage switched off or full: the text lives in the page alone
    }
  }

  function forget(form) {
    try {
      localStorage.removeItem(storeKey(form));
    } catch {
      // nothing was kept, then
    }
  }

  function bringBack() {
    for (const form of document.querySelectorAll("form[data-draft]")) {
      if (seen.has(form)) continue;
      seen.add(form);
      let kept = null;
      try {
        kept = JSON.parse(localStorage.getItem(storeKey(form)) || "null");
      } catch {
        // damaged: nothing to bring back
      }
      if (!kept) continue;
      const behind = fieldsOf(form).filter((el) => typeof kept[el.name] === "string" && kept[el.name] !== el.value);
      for (const el of behind) el.value = kept[el.name];
      form.closest("details")?.setAttribute("open", "");
      form.closest("[popover]")?.showPopover();
      form.dispatchEvent(new CustomEvent("touchstone:written", { bubbles: true })); // for diff.js
      if (behind.length && form.dataset.draftTold) ts.toast(form.dataset.draftTold);
    }
  }

  for (const cause of ["input", "touchstone:emptied"]) {
    document.addEventListener(cause, (event) => {
      const form = event.target.closest?.("form[data-draft]");
      if (form) keep(form);
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-forget]");
    if (link) forget(document.querySelector(link.dataset.forget));
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig?.elt;
    if (form?.matches?.("form[data-draft]") && event.detail.xhr.status < 300) forget(form);
  });

  document.addEventListener("DOMContentLoaded", bringBack);
  document.addEventListener("htmx:afterSwap", bringBack);
  document.addEventListener("htmx:oobAfterSwap", (event) => event.detail.target?.querySelector?.("form[data-draft]") && bringBack());
})();
