/* Guidelines next to the work: [data-guide] (key H) opens #guide-sheet at the current question and closes it again. On a
   wide screen the sheet stands at the side away from the current work, which makes room; on a phone it covers the page.
   Without this script the link opens the guidelines page.

   The current question is the field with the focus, else the first undecided field of the current row, else what the
   row is about ([data-guide-for]), else its first field. Sections name their fields in data-asks ("stance:label"). */
(() => {
  "use strict";
  const ts = window.touchstone;
  const NARROW = "(max-width: 760px)";
  let worked = null; // last element with the focus, outside the bar and the sheet
  let loaded = false;

  /** Where the user is working: the last element with the focus, else the current row. */
  const work = () => (worked?.isConnected ? worked : document.querySelector("[data-row][data-current]"));
  const sheet = () => document.getElementById("guide-sheet");
  const body = () => document.getElementById("guide-body");

  /** The question an element asks, such as "stance:label", or "". */
  function askedBy(el) {
    if (el?.dataset.guideFor) return el.dataset.guideFor;
    const record = el?.dataset.field && el.closest("[data-record]");
    return record ? `${record.dataset.record.split(":")[0]}:${el.dataset.field}` : "";
  }

  /** The section about the current question. */
  function section() {
    const focus = worked?.isConnected ? worked : null;
    const row = document.querySelector("[data-row][data-current]");
    const undecided = row ? [...row.querySelectorAll("[data-undecided]")].filter((el) => el.checkVisibility()) : [];
    const candidates = [
      focus?.closest("[data-field], [data-guide-for]"),
      focus?.closest("fieldset")?.querySelector("[data-field]"),
      ...undecided.map((group) => group.querySelector("[data-field]")),
      ...(row ? row.querySelectorAll("[data-guide-for], [data-field]") : []),
    ];
    for (const el of candidates) {
      const asked = askedBy(el);
      const found = asked && body().querySelector(`[data-asks~="${CSS.escape(asked)}"]`);
      if (found) return found;
    }
    return null;
  }

  async function load(url) {
    if (loaded) return;
    const answer = await fetch(url, { headers: { "HX-Request": "true" } });
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    body().innerHTML = await answer.text();
    loaded = true;
  }

  function place() {
    const at = work()?.getBoundingClientRect();
    const left = at && at.left + at.width / 2 < innerWidth / 2;
    sheet().dataset.side = left ? "end" : "start"; // the side away from the work
  }

  async function open(link) {
    try {
      await load(link.href);
    } catch {
      ts.toast("The guidelines could not be loaded. Try again in a moment.", "error");
      return;
    }
    place();
    if (matchMedia(NARROW).matches) sheet().showModal();
    else sheet().show();
    for (const old of body().querySelectorAll("[data-here]")) delete old.dataset.here;
    const here = section();
    if (here) here.dataset.here = "";
    (here || body().firstElementChild).scrollIntoView({ block: "start" });
    here?.focus({ preventScroll: true });
  }

  document.addEventListener("focusin", ({ target }) => {
    if (target.closest("main") && !target.closest("#guide-sheet")) worked = target;
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-guide]");
    if (!link || !sheet() || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (sheet().open) sheet().close();
    else open(link);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !sheet()?.open || ts.keys.typing(event.target)) return;
    event.preventDefault();
    sheet().close();
  });

  document.addEventListener("DOMContentLoaded", () => {
    // Closing the sheet returns the focus, so the row keeps its keys and the text its caret.
    sheet()?.addEventListener("close", () => work()?.focus({ preventScroll: true }));
  });
})();
