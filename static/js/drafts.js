/* Drafts: text typed into form[data-draft="name"] stays in this browser until htmx has sent the form.

   data-draft-told is the message shown when a draft was restored. [data-forget="#form"] discards the draft. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const seen = new WeakSet(); // forms whose draft has been restored
  const storeKey = (form) => `touchstone.draft.${document.body.dataset.user}.${form.dataset.draft}`;
  const fieldsOf = (form) => [...form.elements].filter((el) => el.name && el.matches("input:not([type=hidden]), textarea"));

  function keep(form) {
    const typed = fieldsOf(form).filter((el) => el.value !== el.defaultValue);
    ts.stored.set(storeKey(form), typed.length ? Object.fromEntries(typed.map((el) => [el.name, el.value])) : null);
  }

  const forget = (form) => ts.stored.set(storeKey(form), null);

  function restore() {
    for (const form of document.querySelectorAll("form[data-draft]")) {
      if (seen.has(form)) continue;
      seen.add(form);
      const draft = ts.stored.get(storeKey(form));
      if (!draft) continue;
      const behind = fieldsOf(form).filter((el) => typeof draft[el.name] === "string" && draft[el.name] !== el.value);
      for (const el of behind) el.value = draft[el.name];
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

  for (const cause of ["DOMContentLoaded", "htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(cause, restore);
})();
