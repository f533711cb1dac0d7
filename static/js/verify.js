/* The verify screen: where the focus goes, and forms that open under a button.

   A save triggers touchstone:claim-complete (this was the claim's last answer: the next open claim is opened through
   [data-next-open]), touchstone:claim-false (the edit comes next: the claim's text gets the focus) or
   touchstone:claim-undecided (the next question is whether the evidence is sufficient).
   [data-fold] closes a form under a button and discards its draft (drafts.js). */
(() => {
  "use strict";
  const ts = window.touchstone;
  const opened = () => document.querySelector(".judgement")?.dataset.claim || "";
  const isBusy = () => ts.keys.typing(document.activeElement);
  let shown = "";

  /* --- from claim to claim --- */

  document.addEventListener("touchstone:claim-complete", (event) => {
    if (event.detail.claim !== opened() || isBusy()) return;
    const next = document.querySelector("[data-next-open]");
    if (next) next.click();
    else document.querySelector('[data-key="Control+Enter"]')?.focus({ preventScroll: true });
  });

  document.addEventListener("touchstone:claim-false", (event) => {
    if (event.detail.claim === opened() && !isBusy()) document.querySelector("[data-claim-text]")?.focus({ preventScroll: true });
  });

  document.addEventListener("touchstone:claim-undecided", (event) => {
    if (event.detail.claim !== opened() || isBusy()) return;
    const first = document.querySelector('.judgement input[data-field="evidence_sufficient"]');
    first?.focus({ preventScroll: true });
    first?.closest("fieldset").scrollIntoView({ block: "nearest" });
  });

  /** After the workspace was replaced: a lost focus goes to the current row, and another claim starts at its top. */
  function arrive(event) {
    if (event.target.id !== "workspace") return;
    const another = opened() !== shown;
    shown = opened();
    if (another) {
      document.querySelector(".claims-nav [aria-current]")?.scrollIntoView({ block: "nearest" });
      scrollTo(0, 0);
    }
    const row = document.querySelector("[data-row][data-current]");
    if (!row || document.activeElement !== document.body) return;
    row.focus({ preventScroll: true });
    if (!another) row.scrollIntoView({ block: "nearest" });
  }

  /* --- forms under buttons --- */

  document.addEventListener("change", (event) => {
    const { dataset, value } = event.target;
    // Someone who searched may want to add evidence: open the form, but leave the focus.
    if (dataset.field === "evidence_sufficient" && value === "no") document.getElementById("add-evidence")?.setAttribute("open", "");
  });

  document.addEventListener("click", (event) => {
    const fold = event.target.closest("[data-fold]");
    if (fold) {
      const details = document.querySelector(fold.dataset.fold);
      details.open = false;
      details.querySelector("summary").focus();
      for (const form of details.querySelectorAll("form[data-draft]")) {
        form.reset();
        form.dispatchEvent(new CustomEvent("touchstone:emptied", { bubbles: true })); // for drafts.js
      }
      return;
    }
    const summary = event.target.closest("summary");
    // The details element opens after this event.
    if (summary) setTimeout(() => summary.parentElement.open && enter(summary.parentElement), 0);
  });

  /** Brings an opened form into view and focuses its first field. */
  function enter(details) {
    if (details.matches(".held")) details.scrollIntoView({ block: "nearest" }); // opened by its key, it may be out of view
    const field = details.querySelector("input:not([type=hidden], [type=radio], [type=checkbox]), textarea");
    if (!field) return;
    if (details.matches(".fold")) details.scrollIntoView({ block: "nearest" });
    field.focus({ preventScroll: details.matches(".fold") });
  }

  /* --- a failed choice shows its old state again --- */

  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, ({ detail }) => {
      if (detail.elt.matches?.(".chip input")) detail.elt.checked = detail.elt.defaultChecked;
    });
  }

  document.addEventListener("DOMContentLoaded", () => (shown = opened()));
  document.addEventListener("htmx:afterSettle", arrive);
})();
