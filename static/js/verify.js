/* Screen 2: where focus goes, and forms whose text outlives the page.

   The server tells with a save: touchstone:claim-complete (this was the claim's last answer: the next open claim opens,
   [data-next-open]), touchstone:claim-false (the edit is asked next: the claim's text gets the focus) and
   touchstone:claim-undecided (whether somebody searched is asked next: Y and X choose).
   [data-goto="id"] focuses what is missing. details.add is a form that opens under a button; [data-fold] closes it and
   forgets its draft (drafts.js). */
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

  /** The workspace is new: focus that has got lost goes to the row that is asked next. Another claim is read from its
      beginning. */
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

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-goto]");
    const goal = link && document.getElementById(link.dataset.goto);
    if (!goal) return;
    event.preventDefault();
    const control = goal.matches("[data-row]") ? goal : goal.querySelector("input:checked, input, button");
    goal.scrollIntoView({ block: "nearest" });
    (control || goal).focus({ preventScroll: true });
  });

  /* --- forms under buttons --- */

  document.addEventListener("change", (event) => {
    const { dataset, value } = event.target;
    // Who searched has found something, perhaps: the form is at hand, the focus stays.
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
    // The details open after this event.
    if (summary) setTimeout(() => summary.parentElement.open && enter(summary.parentElement), 0);
  });

  /** What was opened to be filled in is in sight, and its first field has the focus. */
  function enter(details) {
    if (details.matches(".held")) details.scrollIntoView({ block: "nearest" }); // by its key, from further down
    const field = details.querySelector("input:not([type=hidden], [type=radio], [type=checkbox]), textarea");
    if (!field) return;
    if (details.matches(".fold")) details.scrollIntoView({ block: "nearest" });
    field.focus({ preventScroll: details.matches(".fold") });
  }

  /* --- what could not be done shows as it was --- */

  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, ({ detail }) => {
      if (detail.elt.matches?.(".chip input")) detail.elt.checked = detail.elt.defaultChecked;
    });
  }

  document.addEventListener("DOMContentLoaded", () => (shown = opened()));
  document.addEventListener("htmx:afterSettle", arrive);
})();
